// Measured data, which is not part of kvsim: where it lies, and its tables.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kvsim::validation {

/// `asked` (of --measured) if it is not empty, else $KVSIM_MEASURED if that is set, else the first `shared/measured`
/// beside or above `start`, else an empty string. Throws schema::InputError where one that was named is no folder.
std::string measured_folder(const std::string& asked, const std::string& start);

/// Why figures that need measured data are skipped where there is none.
inline constexpr const char* kNoMeasuredData =
    "no measured data: name its folder with --measured or $KVSIM_MEASURED (else shared/measured beside or above the "
    "working folder is taken)";

struct CsvRow {
  int line = 0;                               ///< in the file, from 1
  std::map<std::string, std::string> fields;  ///< by the header's name
  /// Throws schema::InputError where there is none of this name.
  [[nodiscard]] const std::string& at(const std::string& column) const;
  /// The field as a number; throws also where it is none.
  [[nodiscard]] double number(const std::string& column) const;
  std::string file;
};

/// CSV with a header, fields in double quotes where they hold commas. Throws schema::InputError where the file cannot
/// be read, has no header, or a line has other columns than it.
std::vector<CsvRow> read_csv(const std::string& path);

}  // namespace kvsim::validation
