// Sums over the parts of the replicas' time.
#pragma once

#include "sim/serving/bottleneck.h"

namespace kvsim::testing {

inline double sum_of_shares(const serving::Bottleneck& b) {
  double sum = 0;
  for (const serving::TimePartName& part : serving::kTimeParts) sum += (b.*part.part).share;
  return sum;
}

}  // namespace kvsim::testing
