// Where a simulation gets its requests: a trace or a generator, one at a time, so that nothing is held in memory that
// has not arrived yet.
#pragma once

#include <optional>

#include "models/workload/request_spec.h"

namespace kvsim::serving {

class RequestFeed {
 public:
  virtual ~RequestFeed() = default;
  /// The next request in order of arrival, or nothing at the end. In a closed loop the arrival time is not used.
  virtual std::optional<models::RequestSpec> next() = 0;
  /// Requests kept in the system at once (closed loop); 0: they arrive at their own times (open).
  [[nodiscard]] virtual std::int64_t concurrency() const { return 0; }
  /// Tokens of each of RequestSpec::prefix_blocks; 0: the workload has none.
  [[nodiscard]] virtual std::int64_t prefix_block_tokens() const { return 0; }
};

}  // namespace kvsim::serving
