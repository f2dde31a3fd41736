#include "sim/serving/timeline.h"

namespace kvsim::serving {

void Timeline::add(const LoadSample& sample) {
  samples.push_back(sample);
  if (samples.size() < kMost) return;
  for (std::size_t i = 0; i < samples.size() / 2; ++i) samples[i] = samples[2 * i + 1];
  samples.resize(samples.size() / 2);
  period_s *= 2;
}

}  // namespace kvsim::serving
