// What is kept of a trace to fit laws to it: lengths, times and what prompts have in common, by request.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/workload/trace_reader.h"

namespace kvsim::planner::traffic {

/// Requests of a trace in order of arrival. Memory: 16 bytes a request, 8 more for each of its prefix blocks and 50 for
/// each different one, and those of its session.
class TrafficSample {
 public:
  /// `block_tokens`: of RequestSpec::prefix_blocks; 0: they are not looked at.
  explicit TrafficSample(std::int64_t block_tokens) : block_tokens_(block_tokens), described_(block_tokens) {}

  void add(const models::RequestSpec& request);

  [[nodiscard]] std::size_t size() const { return arrival_ns_.size(); }
  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }
  [[nodiscard]] std::span<const std::int64_t> arrival_ns() const { return arrival_ns_; }
  [[nodiscard]] std::span<const std::int32_t> prompts() const { return prompts_; }
  [[nodiscard]] std::span<const std::int32_t> outputs() const { return outputs_; }
  /// Between one arrival and the next, in ns; one fewer than requests.
  [[nodiscard]] std::vector<std::int64_t> gaps_ns() const;
  [[nodiscard]] models::TraceStatistics statistics() const { return described_.statistics(); }

  // Of sessions; empty where the trace has none.

  [[nodiscard]] std::vector<std::int64_t> turns() const;                              ///< requests of each session
  [[nodiscard]] std::span<const std::int64_t> think_ns() const { return think_ns_; }  ///< where recorded
  /// From a turn's arrival to the next one's.
  [[nodiscard]] std::span<const std::int64_t> turn_gaps_ns() const { return turn_gaps_ns_; }
  [[nodiscard]] std::span<const std::int64_t> first_prompts() const { return first_prompts_; }  ///< tokens
  [[nodiscard]] std::span<const std::int64_t> first_arrivals_ns() const { return first_arrivals_ns_; }
  /// Tokens of a further turn's prompt beyond prompt and answer of the turn before; negative where it was shortened.
  [[nodiscard]] std::span<const std::int64_t> growth() const { return growth_; }

  // Of prefix blocks.

  /// A beginning that a request has in common with others: its last whole block, and how many it is long.
  struct Beginning {
    std::uint64_t block = 0;
    std::int64_t tokens = 0;  ///< 0: nobody else begins like it
  };
  /// Of each request, the longest that another request has, too, in whole blocks. Empty without blocks.
  [[nodiscard]] std::vector<Beginning> shared_beginnings() const;

 private:
  struct Session {
    std::int64_t turns = 0;
    std::int64_t last_ns = 0;
    std::int64_t last_tokens = 0;  // of prompt and answer
  };

  std::int64_t block_tokens_;
  models::TraceDescription described_;
  std::vector<std::int64_t> arrival_ns_;
  std::vector<std::int32_t> prompts_, outputs_;
  std::vector<Session> sessions_;  // by number
  std::vector<std::int64_t> think_ns_, turn_gaps_ns_, first_prompts_, first_arrivals_ns_, growth_;
  std::vector<std::uint64_t> blocks_;   // whole ones, of all requests
  std::vector<std::size_t> block_end_;  // of each request
  std::unordered_map<std::uint64_t, std::uint32_t> users_;
};

/// All requests of a trace.
TrafficSample read_sample(const models::TraceFormat& format, const std::string& path,
                          const models::TraceOptions& options);

}  // namespace kvsim::planner::traffic
