#include "models/workload/trace_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "models/workload/distributions.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {
namespace {

constexpr double kLast_s = static_cast<double>(max_arrival_ns) / kNsPerSecond;
constexpr std::int64_t kMostRounds = 10'000;
constexpr std::size_t kMostRequests = 100'000'000;

/// Root of each session: the one that began it, or began that one and so on, as far as there are any.
std::vector<std::int32_t> first_of_each(const std::vector<RequestSpec>& requests) {
  std::vector<std::int32_t> first;
  for (const RequestSpec& r : requests) {
    if (r.session < 0) continue;
    const auto session = static_cast<std::size_t>(r.session);
    for (std::size_t next = first.size(); next <= session; ++next) first.push_back(static_cast<std::int32_t>(next));
    // A parent has begun before.
    if (r.parent >= 0) first[session] = first[static_cast<std::size_t>(r.parent)];
  }
  return first;
}

/// Whether a request is kept: the same for every run, whatever the others are; of a session all, sub-agents included.
bool kept(const RequestSpec& request, const std::vector<std::int32_t>& first, double share) {
  constexpr double kAll = 18446744073709551616.0;  // 2^64
  if (share >= 1) return true;
  const std::uint64_t of =
      request.session < 0 ? request.id
                          : mixed_hash(static_cast<std::uint64_t>(first[static_cast<std::size_t>(request.session)]));
  return static_cast<double>(mixed_hash(of)) < share * kAll;
}

}  // namespace

std::string problem_with(const TraceCut& cut) {
  if (!(cut.from_s >= 0 && cut.from_s <= kLast_s)) {
    return fmt::format("from is {} s, expected 0 to {}", cut.from_s, kLast_s);
  }
  if (cut.until_s && !(*cut.until_s > cut.from_s)) {
    return fmt::format("until is {} s, expected more than the {} s of from", *cut.until_s, cut.from_s);
  }
  if (!(cut.keep > 0 && cut.keep <= 1)) return fmt::format("keep is {}, expected above 0, at most 1", cut.keep);
  if (cut.repeat < 1 || cut.repeat > kMostRounds) {
    return fmt::format("repeat is {}, expected 1 to {}", cut.repeat, kMostRounds);
  }
  return {};
}

std::vector<RequestSpec> cut_trace(std::vector<RequestSpec> requests, const TraceCut& cut) {
  if (const std::string problem = problem_with(cut); !problem.empty()) throw schema::InputError(problem);
  const std::int64_t from_ns = std::llround(cut.from_s * kNsPerSecond);
  const std::int64_t until_ns =
      cut.until_s && *cut.until_s < kLast_s ? std::llround(*cut.until_s * kNsPerSecond) : max_arrival_ns + 1;
  const std::vector<std::int32_t> first = cut.keep < 1 ? first_of_each(requests) : std::vector<std::int32_t>{};
  std::erase_if(requests, [&](const RequestSpec& r) {
    return r.arrival_ns < from_ns || r.arrival_ns >= until_ns || !kept(r, first, cut.keep);
  });
  if (requests.empty()) {
    throw schema::InputError("the trace has no request left: expected other times, or a larger share to keep");
  }
  const std::size_t once = requests.size();
  if (once * static_cast<std::size_t>(cut.repeat) > kMostRequests) {
    throw schema::InputError(fmt::format("repeat makes {} requests of {}, expected at most {}",
                                         once * static_cast<std::size_t>(cut.repeat), once, kMostRequests));
  }
  for (RequestSpec& r : requests) r.arrival_ns -= from_ns;
  const std::int64_t span_ns = requests.back().arrival_ns - requests.front().arrival_ns;
  const std::int64_t gap_ns = once > 1 ? span_ns / static_cast<std::int64_t>(once - 1) : 0;
  const std::int64_t round_ns = cut.until_s ? until_ns - from_ns : requests.back().arrival_ns + gap_ns;
  if (cut.repeat > 1 && round_ns > (max_arrival_ns - requests.back().arrival_ns) / (cut.repeat - 1)) {
    throw schema::InputError("repeated so often, the trace lasts beyond a hundred years: expected fewer rounds");
  }
  std::int64_t sessions = 0;
  for (const RequestSpec& r : requests) sessions = std::max(sessions, std::int64_t{r.session} + 1);
  if (sessions * cut.repeat > std::numeric_limits<std::int32_t>::max()) {
    throw schema::InputError(fmt::format("repeat makes {} sessions of {}, expected at most {}", sessions * cut.repeat,
                                         sessions, std::numeric_limits<std::int32_t>::max()));
  }
  requests.reserve(once * static_cast<std::size_t>(cut.repeat));
  for (std::int64_t round = 1; round < cut.repeat; ++round) {
    for (std::size_t i = 0; i < once; ++i) {
      requests.push_back(requests[i]);
      requests.back().arrival_ns += round * round_ns;
      if (requests.back().session >= 0) requests.back().session += static_cast<std::int32_t>(round * sessions);
      if (requests.back().parent >= 0) requests.back().parent += static_cast<std::int32_t>(round * sessions);
    }
  }
  std::uint64_t id = 0;
  for (RequestSpec& r : requests) r.id = id++;
  return requests;
}

}  // namespace kvsim::models
