// Which requests of a recording are used, and how often: a part of its time, a share of its requests, several times
// over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::models {

/// Times are those of the requests as they were read (recorded, and scaled where they are).
struct TraceCut {
  double from_s = 0;                ///< requests before this time are left out, and what is left begins at 0
  std::optional<double> until_s{};  ///< requests at or after this time are left out; none: all to the end
  double keep = 1;                  ///< share of requests, or sessions, that is kept, in (0, 1]: always the same ones
  std::int64_t repeat = 1;          ///< how often they come, one round after the other; the prompts are the same again

  [[nodiscard]] bool all() const { return from_s == 0 && !until_s && keep == 1 && repeat == 1; }
  bool operator==(const TraceCut&) const = default;
};

/// Problem with it and what was expected; empty: none.
std::string problem_with(const TraceCut& cut);

/// The requests that are left, numbered anew. Rounds follow each other after the time that the recording has (from
/// from_s to until_s, or to its last request) and, where until_s is not given, a mean gap. Throws schema::InputError
/// where nothing is left, or arrivals would go beyond a hundred years.
std::vector<RequestSpec> cut_trace(std::vector<RequestSpec> requests, const TraceCut& cut);

}  // namespace kvsim::models
