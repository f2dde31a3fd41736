// Sample of a trace, to which laws are fitted: lengths, times and what prompts have in common, by request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/workload/flat_table.h"
#include "models/workload/trace_reader.h"

namespace kvsim::planner::traffic {

/// Which of many consecutive things are kept, where there are more than fit: runs of kRun of them that lie evenly over
/// all, so that what follows on what stays.
class Runs {
 public:
  static constexpr std::size_t kRun = 1024;

  /// Whether the next one is kept.
  bool next() { return count_++ / kRun % every_ == 0; }
  /// From now on half as many are. Whoever keeps some calls halve() with them, which are whole runs, an even number.
  void thin() { every_ *= 2; }
  template <class T>
  static void halve(std::vector<T>& kept) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (i / kRun % 2 == 0) kept[left++] = kept[i];
    }
    kept.resize(left);
  }
  [[nodiscard]] bool all() const { return every_ == 1; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t count_ = 0;
  std::size_t every_ = 1;
};

/// Arrivals in order of time: when each was, or of many those of some runs, and how many there were when.
class ArrivalTimes {
 public:
  explicit ArrivalTimes(std::size_t most) : most_(most) {}
  /// True where its time is kept.
  bool add(std::int64_t at_ns);
  /// Whether so many are kept that halve() must be called.
  [[nodiscard]] bool full() const { return kept_.size() >= most_; }
  void halve();

  [[nodiscard]] std::size_t count() const { return runs_.count(); }
  [[nodiscard]] std::int64_t first_ns() const { return first_ns_; }
  [[nodiscard]] std::int64_t last_ns() const { return last_ns_; }
  [[nodiscard]] std::span<const std::int64_t> kept() const { return kept_; }
  /// Whether the i-th that is kept follows on the one before it, i > 0.
  [[nodiscard]] bool follows(std::size_t i) const { return runs_.all() || i % Runs::kRun != 0; }
  /// Between one and the next, in ns.
  [[nodiscard]] std::vector<std::int64_t> gaps_ns() const;
  /// Arrivals in each of so many equal parts of the time from the first to the last; where not all are kept, of a part
  /// whose ends are off by its 300th at most.
  [[nodiscard]] std::vector<double> counts(std::size_t windows) const;

 private:
  static constexpr std::size_t kBins = std::size_t{1} << 14U;

  std::size_t most_;
  Runs runs_;
  std::vector<std::int64_t> kept_;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
  int bin_bits_ = 0;                 // a bin is 2^bin_bits_ ns wide
  std::vector<std::uint64_t> bins_;  // since the first
};

/// Requests of a trace in order of arrival. Of more than kMostRequests, some runs are kept, and of more than kMostTurns
/// further turns, those of some sessions: 8 MB at most. Of prefix blocks everything is kept: 16 bytes a request, 8 for
/// each of its blocks and some 20 for each different one.
class TrafficSample {
 public:
  static constexpr std::size_t kMostRequests = std::size_t{1} << 18U;
  static constexpr std::size_t kMostTurns = std::size_t{1} << 16U;

  /// `block_tokens`: of RequestSpec::prefix_blocks; 0: they are not looked at.
  explicit TrafficSample(std::int64_t block_tokens);

  void add(const models::RequestSpec& request);

  /// Requests of the trace, and those whose lengths and times are kept.
  [[nodiscard]] std::size_t size() const { return arrivals_.count(); }
  [[nodiscard]] std::size_t kept() const { return prompts_.size(); }
  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }
  [[nodiscard]] const ArrivalTimes& arrivals() const { return arrivals_; }
  [[nodiscard]] std::span<const std::int32_t> prompts() const { return prompts_; }
  [[nodiscard]] std::span<const std::int32_t> outputs() const { return outputs_; }
  /// Between one arrival and the next, in ns; of whole traces one fewer than requests.
  [[nodiscard]] std::vector<std::int64_t> gaps_ns() const { return arrivals_.gaps_ns(); }
  [[nodiscard]] models::TraceStatistics statistics() const { return described_.statistics(); }

  // Figures of sessions; empty where the trace has none. All but the first four are of sessions that are followed.

  [[nodiscard]] std::size_t sessions() const { return session_starts_.count(); }
  [[nodiscard]] const ArrivalTimes& session_starts() const { return session_starts_; }
  /// Number of the sessions that another one's turn began.
  [[nodiscard]] std::size_t sub_agents() const { return sub_agents_; }
  /// Requests of no session.
  [[nodiscard]] std::size_t alone() const { return alone_; }
  [[nodiscard]] std::vector<std::int64_t> turns() const;     ///< requests of each session
  [[nodiscard]] std::vector<std::int64_t> think_ns() const;  ///< where recorded
  /// From a turn's arrival to the next one's.
  [[nodiscard]] std::vector<std::int64_t> turn_gaps_ns() const;
  [[nodiscard]] std::vector<std::int64_t> first_prompts() const;  ///< tokens
  /// Sessions whose latest turn came less than so long before the trace's end: more of them may lie beyond it.
  [[nodiscard]] std::size_t latest_within(double ns) const;
  /// Prompts of conversations() without a whole block of their own, from which no other is seen to go on.
  [[nodiscard]] std::size_t without_own_blocks() const { return without_own_blocks_; }
  /// Tokens of a further turn's prompt beyond prompt and answer of the turn before; negative where it was shortened.
  [[nodiscard]] std::vector<std::int64_t> growth() const;

  // Prefix blocks.

  /// A beginning that a request has in common with others: its last whole block, and how many it is long.
  struct Beginning {
    std::uint64_t block = 0;
    std::int64_t tokens = 0;  ///< 0: nobody else begins like it
  };
  /// Longest beginning of each request that another request has, too, in whole blocks. Empty without blocks.
  [[nodiscard]] std::vector<Beginning> shared_beginnings() const;

  /// The requests as turns of conversations: a prompt that begins like an earlier one is the next turn of its
  /// conversation (an answer that was asked for again, too). Blocks that a fiftieth of the requests have are no sign of
  /// one but a prefix. None where the trace tells sessions itself, has no blocks, or fewer than half of those prompts
  /// go on from the earlier one: with all its whole blocks but the last perhaps, and longer than it and its answer.
  [[nodiscard]] std::optional<TrafficSample> conversations() const;
  /// The requests that begin a session, as requests of their own. Of a trace with blocks.
  [[nodiscard]] TrafficSample session_openings() const;

 private:
  struct Session {
    std::int64_t last_ns = 0;
    std::int64_t last_tokens = 0;  // of prompt and answer
    std::int64_t first_prompt = 0;
    std::int32_t turns = 0;
    std::int32_t number = 0;
  };
  struct FurtherTurn {
    std::int64_t gap_ns = 0;
    std::int64_t think_ns = -1;
    std::int32_t growth = 0;
    std::int32_t session = 0;
  };

  void add_turn(const models::RequestSpec& r);
  [[nodiscard]] std::span<const std::uint64_t> blocks_of(std::size_t request) const;
  /// As it was added; without its turn.
  [[nodiscard]] models::RequestSpec request(std::size_t i) const;
  [[nodiscard]] bool followed(std::int32_t session) const;
  void follow_half();
  [[nodiscard]] std::vector<Session> followed_sessions() const;

  std::int64_t block_tokens_;
  models::TraceDescription described_;
  ArrivalTimes arrivals_;
  std::vector<std::int32_t> prompts_, outputs_;  // as arrivals_ keeps them
  std::vector<bool> begun_;                      // sessions, by number
  ArrivalTimes session_starts_;
  std::size_t sub_agents_ = 0;
  std::size_t alone_ = 0;
  std::size_t without_own_blocks_ = 0;
  unsigned follow_bits_ = 0;  // one of 2^so many sessions is followed
  models::FlatTable<Session> sessions_;
  std::vector<FurtherTurn> further_;
  std::vector<std::uint64_t> blocks_;   // whole ones, of all requests
  std::vector<std::size_t> block_end_;  // of each request
  std::vector<std::int32_t> session_;   // of each request with blocks; -1: none
  models::FlatTable<std::uint32_t> users_;
};

/// All requests of a trace.
TrafficSample read_sample(const models::TraceFormat& format, const std::string& path,
                          const models::TraceOptions& options);

}  // namespace kvsim::planner::traffic
