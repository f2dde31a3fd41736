#include "models/workload/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "models/schema/spelling.h"
#include "models/schema/units.h"
#include "models/workload/distributions.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {
namespace {

std::string expected_file(const TraceFormat& format) {
  return fmt::format("{} trace ({})", schema::with_article(format.name), format.description);
}

LineReader open(const TraceFormat& format, const std::string& path) {
  std::error_code error;
  const bool folder = format.folders && std::filesystem::is_directory(path, error);
  return folder ? LineReader::open_folder(path, expected_file(format)) : LineReader::open(path, expected_file(format));
}

void scan_lines(const TraceFormat& format, LineReader file, TraceOptions options, const RequestSink& sink) {
  if (options.columns && format.name != "columns") {
    throw schema::InputError(fmt::format("columns: format {} has its own, use format columns", format.name));
  }
  if (format.folders && (options.sort || options.skip_invalid)) {
    throw schema::InputError(
        fmt::format("{}: a line of format {} is a session, in any order, expected a format of "
                    "which it is a request",
                    options.sort ? "sort" : "skip_invalid", format.name));
  }
  std::string first_invalid;
  if (options.first_invalid == nullptr) options.first_invalid = &first_invalid;
  const schema::Origin source = file.source();
  LineReader lines = options.sort
                         ? LineReader::from_lines(source, TraceBuilder::lines_by_arrival(format, file, options))
                         : std::move(file);
  TraceBuilder trace(lines, options, sink);
  format.read(lines, trace);
  if (!trace.empty()) return;
  lines.fail_file(
      fmt::format("has no requests, expected {}{}", expected_file(format),
                  options.first_invalid->empty() ? "" : "; the first line left out: " + *options.first_invalid));
}

std::vector<RequestSpec> read_lines(const TraceFormat& format, LineReader lines, const TraceOptions& options) {
  std::vector<RequestSpec> requests;
  scan_lines(format, std::move(lines), options, [&](RequestSpec&& r) { requests.push_back(std::move(r)); });
  return requests;
}

}  // namespace

std::string lines_left_out(std::uint64_t count, const std::string& first) {
  return fmt::format("{} {} left out; the first: {}", count,
                     count == 1 ? "line that is no request is" : "lines that are no requests are", first);
}

const TraceFormat& find_trace_format(std::string_view name) {
  if (const TraceFormat* const found = schema::find_named(trace_formats(), name)) return *found;
  std::vector<std::string> names;
  for (const TraceFormat& f : trace_formats()) names.emplace_back(f.name);
  throw schema::InputError(fmt::format("unknown trace format \"{}\"{}", name, schema::suggest(name, names)));
}

std::vector<RequestSpec> read_trace(const TraceFormat& format, const std::string& path, const TraceOptions& options) {
  return read_lines(format, open(format, path), options);
}

void scan_trace(const TraceFormat& format, const std::string& path, const TraceOptions& options,
                const RequestSink& sink) {
  scan_lines(format, open(format, path), options, sink);
}

std::vector<RequestSpec> read_trace_text(const TraceFormat& format, const std::string& name, std::string_view text,
                                         const TraceOptions& options) {
  return read_lines(format, LineReader::from_text(name, text), options);
}

namespace {

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / kNsPerSecond;
}

}  // namespace

std::int64_t to_arrival_ns(double value, double ns_per_unit) {
  const double ns = std::round(value * ns_per_unit);
  if (!(ns >= 0)) return -1;
  return ns <= static_cast<double>(max_arrival_ns) ? static_cast<std::int64_t>(ns) : max_arrival_ns + 1;
}

TraceBuilder::TraceBuilder(const LineReader& lines, const TraceOptions& options, const RequestSink& sink)
    : lines_(lines), options_(options), sink_(sink) {
  if (!(options_.time_scale >= least_time_scale && options_.time_scale <= most_time_scale)) {
    throw schema::InputError(
        fmt::format("time_scale is {}, expected {} to {}", options_.time_scale, least_time_scale, most_time_scale));
  }
}

void TraceBuilder::check_tokens(std::string_view field, std::int64_t tokens, std::size_t byte) const {
  if (tokens < 1 || tokens > max_request_tokens) {
    const bool aborted = tokens == 0 && lines_are_requests_ && !options_.skip_invalid;
    lines_.fail(byte, fmt::format("{} is {}, expected 1 to {} tokens{}", field, tokens, max_request_tokens,
                                  aborted ? ", or --skip-invalid (skip_invalid: true)" : ""));
  }
}

void TraceBuilder::each(const std::function<bool()>& next) {
  lines_are_requests_ = true;
  if (notes_ && !lines_.before_line()) header_.emplace_back(lines_.line_number(), lines_.line());
  while (!full()) {
    const bool begun = !lines_.before_line();
    const int line = begun ? lines_.line_number() : 0;
    try {
      if (!next()) return;
    } catch (const schema::InputError& error) {
      const bool went_on = !lines_.before_line() && (!begun || lines_.line_number() != line);
      if (!options_.skip_invalid || out_of_order_ || !went_on) throw;
      if (options_.first_invalid != nullptr && options_.first_invalid->empty()) *options_.first_invalid = error.what();
      leave_out();
    }
  }
}

bool TraceBuilder::noted(std::int64_t arrival_ns) {
  if (notes_) noted_.push_back({arrival_ns, {lines_.line_number(), std::string(lines_.line())}});
  return notes_;
}

std::vector<std::pair<int, std::string>> TraceBuilder::lines_by_arrival(const TraceFormat& format, LineReader& lines,
                                                                        const TraceOptions& options) {
  const RequestSink none = [](RequestSpec&&) {};
  TraceBuilder trace(lines, options, none);
  trace.notes_ = true;
  format.read(lines, trace);
  std::stable_sort(trace.noted_.begin(), trace.noted_.end(),
                   [](const Noted& a, const Noted& b) { return a.arrival_ns < b.arrival_ns; });
  std::vector<std::pair<int, std::string>> sorted = std::move(trace.header_);
  for (Noted& noted : trace.noted_) sorted.push_back(std::move(noted.line));
  return sorted;
}

void TraceBuilder::fail_order(std::size_t byte, std::string_view message) {
  out_of_order_ = true;
  lines_.fail(byte, fmt::format("{}, expected requests in order of arrival, or --sort (sort: true)", message));
}

void TraceBuilder::add(std::int64_t arrival_ns, std::size_t byte, std::int64_t prompt_tokens,
                       std::int64_t output_tokens, std::vector<std::uint64_t> prefix_blocks, const SessionTurn& turn) {
  if (arrival_ns < 0 || arrival_ns > max_arrival_ns) {
    lines_.fail(byte,
                "the request arrives before the trace's start or a hundred "
                "years after it, expected a time since the start");
  }
  if (arrival_ns < last_ns_) {
    fail_order(byte, fmt::format("the request arrives {:.9g} s after the start, {:.9g} s before the one above it",
                                 seconds(arrival_ns), seconds(last_ns_ - arrival_ns)));
  }
  last_ns_ = arrival_ns;
  RequestSpec request;
  request.id = count_++;
  request.arrival_ns = arrival_ns;
  if (options_.time_scale != 1.0) {
    request.arrival_ns = to_arrival_ns(static_cast<double>(arrival_ns), options_.time_scale);
    if (request.arrival_ns > max_arrival_ns) {
      lines_.fail(byte, fmt::format("with time_scale {} the request arrives after a hundred "
                                    "years, expected a smaller time_scale",
                                    options_.time_scale));
    }
  }
  request.prompt_tokens = prompt_tokens;
  request.output_tokens = output_tokens;
  request.prefix_blocks = std::move(prefix_blocks);
  request.session = turn.session;
  request.turn = turn.turn;
  request.think_ns = turn.think_ns;
  request.parent = turn.parent;
  sink_(std::move(request));
}

namespace {

/// FNV-1a of 64 bits, mixed (mixed_hash) so that names that differ in their last letters are far apart.
std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return mixed_hash(hash);
}

}  // namespace

SessionTurn SessionTurns::next(std::string_view session, std::int64_t arrival_ns, std::int64_t end_ns) {
  const std::uint64_t name = name_hash(session);
  const auto [open, fresh] = open_.try_emplace(name, Open{-1, static_cast<std::int32_t>(open_.size()), 0});
  SessionTurn turn{open->number, ++open->turns, -1};
  if (!fresh && open->end_ns >= 0) {
    std::int64_t before_ns = open->end_ns;
    if (agents_end_.find(name) != nullptr) {
      before_ns = std::max(before_ns, std::exchange(*agents_end_.try_emplace(name).first, -1));
    }
    turn.think_ns = std::max<std::int64_t>(arrival_ns - before_ns, 0);
  }
  open->end_ns = end_ns;
  return turn;
}

std::optional<SessionTurn> SessionTurns::next_of(std::string_view parent, std::string_view session,
                                                 std::int64_t arrival_ns, std::int64_t end_ns) {
  const std::uint64_t of = name_hash(parent);
  const Open* const known = open_.find(of);
  if (known == nullptr) return std::nullopt;
  const Open begun_by = *known;
  SessionTurn turn = next(session, arrival_ns, end_ns);
  turn.parent = begun_by.number;
  if (turn.turn == 1) {  // it begins when the turn before it is over, as a turn of the parent would
    if (begun_by.end_ns >= 0) turn.think_ns = std::max<std::int64_t>(arrival_ns - begun_by.end_ns, 0);
    parents_.try_emplace(name_hash(session), of);
  }
  if (end_ns >= 0) agent_ends(of, end_ns);
  return turn;
}

bool SessionTurns::may_be_of(std::string_view parent, std::string_view session) const {
  const std::uint64_t name = name_hash(session);
  if (open_.find(name) == nullptr) return true;
  const std::uint64_t* const before = parents_.find(name);
  return before != nullptr && *before == name_hash(parent);
}

void SessionTurns::agent_ends(std::uint64_t parent, std::int64_t end_ns) {
  for (const std::uint64_t* of = &parent; of != nullptr; of = parents_.find(*of)) {
    std::int64_t& latest = *agents_end_.try_emplace(*of, -1).first;
    latest = std::max(latest, end_ns);
  }
}

void LengthCounts::add(std::int64_t tokens) {
  ++count_;
  sum_ += static_cast<double>(tokens);
  if (tokens >= kShort) {
    ++long_[tokens];
    return;
  }
  const auto at = static_cast<std::size_t>(tokens);
  if (at >= short_.size()) short_.resize(std::max(at + 1, std::min<std::size_t>(2 * short_.size(), kShort)));
  ++short_[at];
}

std::int64_t LengthCounts::at_rank(std::uint64_t rank) const {
  std::uint64_t up_to = 0;
  for (std::size_t tokens = 0; tokens < short_.size(); ++tokens) {
    up_to += short_[tokens];
    if (rank < up_to) return static_cast<std::int64_t>(tokens);
  }
  for (const auto& [tokens, requests] : long_) {
    up_to += requests;
    if (rank < up_to) return tokens;
  }
  return 0;
}

/// Hyndman-Fan 7: position p (n - 1) among the sorted values, linear in between.
double LengthCounts::percentile(double p) const {
  const double position = p * static_cast<double>(count_ - 1);
  const auto below = static_cast<std::uint64_t>(position);
  const std::uint64_t above = std::min(below + 1, count_ - 1);
  const auto low = static_cast<double>(at_rank(below));
  return low + (position - static_cast<double>(below)) * (static_cast<double>(at_rank(above)) - low);
}

LengthStatistics LengthCounts::statistics() const {
  return {.mean = sum_ / static_cast<double>(count_),
          .p50 = percentile(0.50),
          .p99 = percentile(0.99),
          .min = at_rank(0),
          .max = at_rank(count_ - 1)};
}

namespace {

/// From the first arrival to the last.
double span_s(std::span<const RequestSpec> requests) {
  return static_cast<double>(requests.back().arrival_ns - requests.front().arrival_ns) / kNsPerSecond;
}

}  // namespace

double arrival_rate(std::span<const RequestSpec> requests) {
  if (requests.empty()) return 0;
  const double span = span_s(requests);
  return span > 0 ? static_cast<double>(requests.size() - 1) / span : 0;
}

void TraceDescription::add(const RequestSpec& request) {
  if (prompts_.count() == 0) {
    first_ns_ = request.arrival_ns;
  } else {
    const auto gap = static_cast<double>(request.arrival_ns - last_ns_);
    const double off = gap - gap_mean_;
    gap_mean_ += off / static_cast<double>(prompts_.count());
    gap_squares_ += off * (gap - gap_mean_);
  }
  last_ns_ = request.arrival_ns;
  prompts_.add(request.prompt_tokens);
  outputs_.add(request.output_tokens);
  add_blocks(request);
  if (request.session < 0) return;
  ++session_turns_;
  last_session_ = std::max(last_session_, request.session);
  const bool begins_agent = request.parent >= 0 && request.turn == 1;  // which nobody thinks before
  if (request.think_ns < 0 || begins_agent) return;
  ++think_times_;
  think_ns_ += static_cast<double>(request.think_ns);
}

void TraceDescription::add_blocks(const RequestSpec& request) {
  std::int64_t start = 0;
  for (const std::uint64_t block : request.prefix_blocks) {
    if (!seen_.try_emplace(block).second) {
      ++reused_;
      reused_tokens_ += static_cast<double>(std::clamp<std::int64_t>(request.prompt_tokens - start, 0, block_tokens_));
    }
    start += block_tokens_;
  }
  blocks_ += request.prefix_blocks.size();
}

TraceStatistics TraceDescription::statistics() const {
  TraceStatistics out;
  out.requests = prompts_.count();
  if (out.requests == 0) return out;
  const auto gaps = static_cast<double>(out.requests - 1);
  out.span_s = seconds(last_ns_ - first_ns_);
  out.rate_per_s = out.span_s > 0 ? gaps / out.span_s : 0;
  out.gap_cv = out.requests > 2 && gap_mean_ > 0 ? std::sqrt(gap_squares_ / gaps) / gap_mean_ : 0;
  out.prompt = prompts_.statistics();
  out.output = outputs_.statistics();
  out.blocks = blocks_;
  out.distinct_blocks = seen_.size();
  if (blocks_ > 0) {
    out.block_reuse = static_cast<double>(reused_) / static_cast<double>(blocks_);
    out.token_reuse = reused_tokens_ / prompts_.total();
  }
  out.sessions = static_cast<std::uint64_t>(last_session_ + 1);
  out.session_turns = session_turns_;
  out.think_times = think_times_;
  if (think_times_ > 0) out.mean_think_s = think_ns_ / kNsPerSecond / static_cast<double>(think_times_);
  return out;
}

TraceStatistics describe_trace(std::span<const RequestSpec> requests, std::int64_t block_tokens) {
  TraceDescription description(block_tokens);
  for (const RequestSpec& r : requests) description.add(r);
  return description.statistics();
}

}  // namespace kvsim::models
