// Measured data, which is not part of kvsim: where it lies, its tables, and recorded runs of a serving engine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/engine/statistics.h"

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
  /// The same as a number; also where the field is none.
  [[nodiscard]] double number(const std::string& column) const;
  std::string file;
};

/// CSV with a header, fields in double quotes where they hold commas. Throws schema::InputError where the file cannot
/// be read, has no header, or a line has other columns than it.
std::vector<CsvRow> read_csv(const std::string& path);

/// What each request of a recorded run experienced, and its load second by second.
struct RecordedRun {
  engine::Sample ttft_s, tpot_s, e2e_s;  ///< since the request was sent
  /// Seconds between the recording's clock start, which its load samples count from, and the first request.
  double first_request_s = 0;
  struct Load {
    double at_s = 0;  ///< end of the second
    double prompt_tokens_per_s = 0, output_tokens_per_s = 0;
    double running = 0, waiting = 0, kv_percent = 0;
  };
  std::vector<Load> load;
};

/// Reads requests.jsonl, timeseries.csv and meta.json of a folder. Requests were sent on one clock and served on
/// another (another process's); the smallest difference between sending and queueing is taken for the clocks' offset.
/// Throws schema::InputError.
RecordedRun read_recorded_run(const std::string& folder);

}  // namespace kvsim::validation
