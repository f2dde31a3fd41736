// Common parts of the subcommands of `kvsim workload`: how they are told which trace, and what of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/workload/trace_reader.h"
#include "tools/cli/console.h"

namespace CLI {
class App;
}

namespace kvsim::cli {

/// A trace's format, and how much of it.
struct TraceArguments {
  std::string format;   ///< empty: columns
  std::string columns;  ///< as written
  std::uint64_t max_requests = 0;
  bool skip_invalid = false;
  bool sort = false;

  /// Throws schema::InputError where neither says how to read the trace, or the columns make no sense.
  [[nodiscard]] models::TraceFormat trace_format() const;
  [[nodiscard]] models::TraceOptions options() const;
};

/// Declares `--format`, `--columns`, `--skip-invalid`, `--sort` and `--max-requests`. `arguments` must outlive the
/// parsing.
void declare_trace(CLI::App& app, TraceArguments& arguments);

/// Columns of --columns: names such as "arrival=ts,prompt=in,output=out". Throws schema::InputError.
models::TraceColumns parse_columns(const std::string& text);

// One a subcommand: declares it below `app`; what it returns runs once it was chosen.

std::function<void(Console&)> declare_workload_info(CLI::App& app);
std::function<void(Console&)> declare_workload_fit(CLI::App& app);
std::function<void(Console&)> declare_workload_generate(CLI::App& app);
std::function<void(Console&)> declare_workload_compare(CLI::App& app);

}  // namespace kvsim::cli
