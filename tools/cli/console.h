// Where results go (stdout) and everything else (stderr).
#pragma once

#include <exception>
#include <string_view>

#include "tools/output/write_file.h"
#include "tools/results/table.h"

namespace kvsim::cli {

using output::OutputError;
using output::write_all;

/// The reader of stdout has gone (`kvsim run ... | head -1`): nothing is left to do, and there is no reader to tell.
class ClosedPipe : public std::exception {};

/// The help of `--details`.
inline constexpr const char* kDetailsHelp = "Print all tables and remarks, not the first screen alone";

class Console {
 public:
  /// Writes all of `text` to stdout. Throws OutputError or ClosedPipe.
  void print(std::string_view text) const;
  /// Not `details`: its first screen.
  void print(const results::Page& page, bool details = true) const;

  /// A line on stderr, after "kvsim: ". Never fails.
  static void complain(std::string_view text);

  /// Colour only on a terminal, and not where NO_COLOR is set; prose wraps at 100 columns or the terminal's width.
  [[nodiscard]] static results::TextStyle style();
};

/// Opens /dev/null in place of missing standard streams, so that no file of ours is taken for one.
void secure_standard_streams();

}  // namespace kvsim::cli
