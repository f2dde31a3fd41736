// Requests as the lines of a trace: the formats of models/workload that can be said of any requests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/workload/request_source.h"

namespace kvsim::planner::traffic {

/// Whether requests of this format are told what they share.
bool writes_blocks(std::string_view format);

class TraceWriter {
 public:
  /// The formats that can be written.
  [[nodiscard]] static std::vector<std::string_view> written_formats();

  /// `block_tokens`: of RequestSpec::prefix_blocks; 0: requests share nothing. Throws schema::InputError for a format
  /// that cannot be written, with why.
  TraceWriter(std::string_view format, std::int64_t block_tokens);

  /// Header before the first request, with its line end; may be empty.
  [[nodiscard]] std::string header() const;
  /// The next request's line, with its line end. Times are written to the nanosecond, of azure to a tenth of a
  /// microsecond and since the first request.
  std::string line(const models::RequestSpec& request);

 private:
  struct Format;
  static std::span<const Format> formats();
  static const Format& find(std::string_view format);
  std::string csv_line(const models::RequestSpec& request);
  std::string azure_line(const models::RequestSpec& request);
  std::string burstgpt_line(const models::RequestSpec& request);
  std::string vllm_bench_line(const models::RequestSpec& request);
  std::string mooncake_line(const models::RequestSpec& request);
  std::string bailian_line(const models::RequestSpec& request);
  /// A list of ids of blocks of the format's size, equal where prompts are up to there.
  std::string block_ids(const models::RequestSpec& request);

  const Format& format_;
  std::int64_t block_tokens_;
  std::unordered_map<std::uint64_t, std::uint64_t> ids_;  // of blocks, as they appear
  std::uint64_t next_id_ = 0;
  std::unordered_map<std::int32_t, std::uint64_t> last_of_session_;
};

}  // namespace kvsim::planner::traffic
