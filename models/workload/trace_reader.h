// Recorded request traces. To add a format: a file in traces/ with a reader and `TraceFormat trace_NAME()`. The build
// finds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/schema/registry.h"
#include "models/workload/flat_table.h"
#include "models/workload/line_reader.h"
#include "models/workload/request_spec.h"

namespace kvsim::models {

class LineReader;
class TraceBuilder;

struct TraceFormat {
  std::string_view name;
  std::string_view description;
  int place = schema::kListedLast;  ///< in lists
  std::int64_t block_tokens = 0;    ///< tokens per entry of RequestSpec::prefix_blocks; 0: the format has none
  void (*read)(LineReader& lines, TraceBuilder& trace) = nullptr;
  bool folders = false;  ///< a line is a session, in no order: the files of a folder are one trace
};

inline constexpr double least_time_scale = 1e-6;
inline constexpr double most_time_scale = 1e6;

/// How a log says when something was.
enum class TimeForm {
  found,  ///< dates, or time since 1970 in whichever unit makes it a date of this century
  date,   ///< ISO 8601
  seconds,
  milliseconds,
  microseconds,
  nanoseconds  ///< since any moment
};

/// Most tokens of a prompt's block in a trace.
inline constexpr std::int64_t most_block_tokens = 65536;

/// Names that a log of any form has for parts of a request: columns of its header (CSV) or members of its objects (JSON
/// lines). Times count from the first request.
struct TraceColumns {
  std::string arrival;
  std::string prompt;   ///< tokens
  std::string output;   ///< tokens
  std::string session;  ///< any text or number that requests of a session have in common; empty: not recorded
  std::string parent;   ///< the session whose turn began this one, as a sub-agent; empty: not recorded
  std::string end;      ///< when a request was answered, in the form of arrival; empty: not recorded
  TimeForm time = TimeForm::found;
  std::string blocks{};  ///< JSON lines: numbers of the prompt's whole blocks of block_tokens each, such that equal
                         ///< numbers are equal blocks after equal beginnings; empty: not recorded
  std::int64_t block_tokens = 0;  ///< of each of these, most_block_tokens at most

  friend bool operator==(const TraceColumns&, const TraceColumns&) = default;
};

/// Problem with them and what was expected; empty: none.
std::string problem_with(const TraceColumns& columns);

struct TraceOptions {
  std::uint64_t max_requests = 0;            ///< read only the first so many; 0: all
  double time_scale = 1;                     ///< of arrival times, between the two above: 0.5 doubles the rate
  std::optional<TraceColumns> columns = {};  ///< of format columns, and of no other
  std::uint64_t* left_out = nullptr;  ///< counts requests that failed or were cut, which are skipped; null: nobody asks
  bool skip_invalid = false;  ///< lines that are no request (no tokens, no time) are left out and counted, not refused
  bool sort = false;          ///< requests are in any order, and are sorted by arrival. Memory: the file
  std::string* first_invalid = nullptr;  ///< becomes the message of the first line that skip_invalid leaves out
};

/// "3 lines that are no requests are left out; the first: t.csv:7:3: ...", of how many and TraceOptions::first_invalid.
std::string lines_left_out(std::uint64_t count, const std::string& first);

/// Receiver of each request that was read.
using RequestSink = std::function<void(RequestSpec&&)>;

/// All formats, in the order in which they are listed to users.
std::span<const TraceFormat> trace_formats();

/// Throws schema::InputError naming the nearest format, or all of them.
const TraceFormat& find_trace_format(std::string_view name);

/// The trace's requests, of a file or, where the format allows it, of all files of a folder; numbered from 0, in order
/// of arrival. Throws schema::InputError (`file:line:column: what is wrong, what was expected`) at the first thing that
/// is not as the format has it. Memory: the requests, and a line.
std::vector<RequestSpec> read_trace(const TraceFormat& format, const std::string& path,
                                    const TraceOptions& options = {});

/// Reads one request after the other: memory for a line, and for what tells sessions apart.
void scan_trace(const TraceFormat& format, const std::string& path, const TraceOptions& options,
                const RequestSink& sink);

/// As read_trace, from memory; `name` stands for the file's in messages.
std::vector<RequestSpec> read_trace_text(const TraceFormat& format, const std::string& name, std::string_view text,
                                         const TraceOptions& options = {});

// Checks by every trace reader of a request before it becomes one. Internal to the trace readers.

/// Where a request stands in its session, as in RequestSpec.
struct SessionTurn {
  std::int32_t session = -1;
  std::int32_t turn = 0;
  std::int64_t think_ns = -1;
  std::int32_t parent = -1;
};

class TraceBuilder {
 public:
  /// Throws schema::InputError where an option makes no sense. All three outlive it.
  TraceBuilder(const LineReader& lines, const TraceOptions& options, const RequestSink& sink);

  /// Whether the requested number of requests is there: stop reading.
  [[nodiscard]] bool full() const { return options_.max_requests > 0 && count_ >= options_.max_requests; }
  [[nodiscard]] const TraceOptions& options() const { return options_; }

  /// Calls `next`, which reads a line's request and is false at the end, until enough are there; with skip_invalid also
  /// after a line that is none.
  void each(const std::function<bool()>& next);
  /// Told when a request arrives, on any clock, before anything else of it is checked: true where that is all that is
  /// asked of its line.
  [[nodiscard]] bool noted(std::int64_t arrival_ns);
  /// The lines noted, by arrival, behind the header; lines that are no request are left out.
  [[nodiscard]] static std::vector<std::pair<int, std::string>> lines_by_arrival(const TraceFormat& format,
                                                                                 LineReader& lines,
                                                                                 const TraceOptions& options);
  /// Fails at a request that arrives before an earlier one of the file.
  [[noreturn]] void fail_order(std::size_t byte, std::string_view message);

  /// Fails at `byte` of the current line unless 1 <= tokens <= max_request_tokens.
  void check_tokens(std::string_view field, std::int64_t tokens, std::size_t byte) const;

  /// Adds a request that arrives `arrival_ns` after the trace's start, which `byte` of the current line says; fails
  /// there where that is negative, beyond a hundred years or before the previous request's. Lengths must have been
  /// checked.
  void add(std::int64_t arrival_ns, std::size_t byte, std::int64_t prompt_tokens, std::int64_t output_tokens,
           std::vector<std::uint64_t> prefix_blocks = {}, const SessionTurn& turn = {});

  /// Leaves out a request that failed: it is skipped, and counted.
  void leave_out() const {
    if (options_.left_out) ++*options_.left_out;
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }

 private:
  struct Noted {
    std::int64_t arrival_ns = 0;
    std::pair<int, std::string> line;
  };

  const LineReader& lines_;
  const TraceOptions& options_;
  const RequestSink& sink_;
  std::int64_t last_ns_ = 0;
  std::uint64_t count_ = 0;
  bool lines_are_requests_ = false;
  bool notes_ = false;         // arrivals alone, to sort by
  bool out_of_order_ = false;  // the request of a line that is one
  std::vector<Noted> noted_;
  std::vector<std::pair<int, std::string>> header_;
};

/// Numbers sessions as they begin, and their turns. Memory: some 30 bytes a session.
class SessionTurns {
 public:
  /// The next turn of the session of this name. `end_ns`: when it was answered, on the clock of arrivals; -1: not
  /// recorded.
  SessionTurn next(std::string_view session, std::int64_t arrival_ns, std::int64_t end_ns);
  /// Next turn of a sub-agent: a turn of `parent` began it, which goes on when it has ended. None: there was no request
  /// of that session before.
  std::optional<SessionTurn> next_of(std::string_view parent, std::string_view session, std::int64_t arrival_ns,
                                     std::int64_t end_ns);
  /// Whether the next turn of `session` may say that `parent` began it: it is the first one, or that said so, too.
  [[nodiscard]] bool may_be_of(std::string_view parent, std::string_view session) const;

 private:
  struct Open {
    std::int64_t end_ns = -1;  // of the latest answer; -1: not recorded
    std::int32_t number = -1;
    std::int32_t turns = 0;
  };
  void agent_ends(std::uint64_t parent, std::int64_t end_ns);

  // By a hash of 64 bits, which no two names of a trace share.
  FlatTable<Open> open_;
  FlatTable<std::uint64_t> parents_;    // of sub-agents
  FlatTable<std::int64_t> agents_end_;  // the latest one's since the session's own latest turn
};

/// A date as ISO 8601 has it, `2023-11-16 18:15:46.6805900`, also with T, and with Z or an offset such as +01:00 at the
/// end; ns since 1970.
std::optional<std::int64_t> parse_date(std::string_view text);

/// A decimal number of a unit of 10^digits_to_ns ns, to the ns; none where it is no number, or beyond 142 years.
std::optional<std::int64_t> parse_decimal_ns(std::string_view text, int digits_to_ns);

/// Seconds, milliseconds, ... to nanoseconds, rounded; max_arrival_ns + 1 or -1 where out of range or not a number.
std::int64_t to_arrival_ns(double value, double ns_per_unit);

// Statistics that `kvsim workload info` shows of a trace.

struct LengthStatistics {
  double mean = 0;
  double p50 = 0;  ///< percentiles with linear interpolation (Hyndman-Fan 7)
  double p99 = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct TraceStatistics {
  std::uint64_t requests = 0;
  double span_s = 0;      ///< from the first arrival to the last
  double rate_per_s = 0;  ///< (requests - 1) / span; 0 where the span is
  double gap_cv = 0;      ///< coefficient of variation of the gaps: 1 for Poisson; 0 below two gaps
  LengthStatistics prompt;
  LengthStatistics output;

  // Reuse of prefix blocks with a cache that never evicts: a block is reused where an earlier request had it.
  std::uint64_t blocks = 0;
  std::uint64_t distinct_blocks = 0;
  double block_reuse = 0;  ///< share of blocks; 0 where the trace has none
  double token_reuse = 0;  ///< share of prompt tokens; a last, partly filled block counts for what it holds

  std::uint64_t sessions = 0;       ///< 0: the trace says of no request that it belongs to one
  std::uint64_t session_turns = 0;  ///< requests that belong to one
  std::uint64_t think_times = 0;    ///< turns of which it is recorded
  double mean_think_s = 0;          ///< from the end of a turn to the next; 0 where it is not recorded
};

/// How many requests have each length: quantiles of any number of them are exact.
class LengthCounts {
 public:
  void add(std::int64_t tokens);  ///< 1 to max_request_tokens
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double total() const { return sum_; }  ///< tokens
  /// There is at least one.
  [[nodiscard]] LengthStatistics statistics() const;

 private:
  static constexpr std::int64_t kShort = std::int64_t{1} << 20U;
  [[nodiscard]] std::int64_t at_rank(std::uint64_t rank) const;
  [[nodiscard]] double percentile(double p) const;

  std::vector<std::uint64_t> short_;  // of lengths below kShort, as far as there are any
  std::map<std::int64_t, std::uint64_t> long_;
  std::uint64_t count_ = 0;
  double sum_ = 0;  // of whole numbers: exact
};

/// Statistics of requests that come one after the other, none of which is kept: memory for how many have each length,
/// and for the different blocks.
class TraceDescription {
 public:
  /// `block_tokens` is the trace format's (TraceFormat::block_tokens).
  explicit TraceDescription(std::int64_t block_tokens) : block_tokens_(block_tokens) {}
  void add(const RequestSpec& request);
  [[nodiscard]] TraceStatistics statistics() const;

 private:
  void add_blocks(const RequestSpec& request);

  std::int64_t block_tokens_;
  LengthCounts prompts_, outputs_;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
  double gap_mean_ = 0, gap_squares_ = 0;  // Welford's recurrence
  FlatTable<NoValue> seen_;
  std::uint64_t blocks_ = 0, reused_ = 0;
  double reused_tokens_ = 0;
  std::uint64_t session_turns_ = 0, think_times_ = 0;
  std::int32_t last_session_ = -1;
  double think_ns_ = 0;
};

/// (requests - 1) / span, in requests per second; 0 where there is no time between the first arrival and the last.
double arrival_rate(std::span<const RequestSpec> requests);

/// `block_tokens` is the trace format's (TraceFormat::block_tokens).
TraceStatistics describe_trace(std::span<const RequestSpec> requests, std::int64_t block_tokens);

}  // namespace kvsim::models
