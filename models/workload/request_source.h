// Requests made on demand: lengths always, arrival times where the loop is open. A closed loop takes the next request
// when a client becomes free; when that is, is the simulator's business.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "models/workload/arrivals.h"
#include "models/workload/distributions.h"
#include "models/workload/request_spec.h"

namespace kvsim::models {

/// One stream a purpose: another rate leaves every length as it was, other outputs leave every prompt as it was.
struct WorkloadStreams {
  std::unique_ptr<RandomSource> arrivals;
  std::unique_ptr<RandomSource> prompts;
  std::unique_ptr<RandomSource> outputs;
};

struct GeneratedWorkload {
  LengthSpec prompt;
  LengthSpec output;
  std::optional<ArrivalSpec> arrivals;  ///< absent: closed loop
};

class RequestSource {
 public:
  /// Throws schema::InputError where the workload makes no sense. All three streams must be there.
  RequestSource(const GeneratedWorkload& workload, WorkloadStreams streams);

  /// The next request, numbered from 0. Open loop: with its arrival time. Closed loop: arrival_ns is 0, for the caller
  /// to set.
  RequestSpec next();

  [[nodiscard]] bool closed_loop() const { return !arrivals_.has_value(); }

 private:
  LengthSampler prompt_;
  LengthSampler output_;
  std::optional<ArrivalProcess> arrivals_;
  WorkloadStreams streams_;
  std::uint64_t next_id_ = 0;
};

}  // namespace kvsim::models
