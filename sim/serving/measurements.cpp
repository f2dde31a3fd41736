#include "sim/serving/measurements.h"

namespace kvsim::serving {

void TokenSlices::add(double at_s, double count) {
  while (at_s >= length_s * static_cast<double>(kMost)) {
    if (tokens.size() % 2 != 0) tokens.push_back(0.0);
    for (std::size_t i = 0; i < tokens.size() / 2; ++i) tokens[i] = tokens[2 * i] + tokens[2 * i + 1];
    tokens.resize(tokens.size() / 2);
    length_s *= 2;
  }
  const auto slice = static_cast<std::size_t>(at_s / length_s);
  if (tokens.size() <= slice) tokens.resize(slice + 1, 0.0);
  tokens[slice] += count;
}

void DraftLengthMeasurement::add(std::int64_t chosen) {
  const auto at = static_cast<std::size_t>(chosen);
  if (rounds.size() <= at) rounds.resize(at + 1, 0);
  rounds[at] += 1;
}

const engine::Sample& times_of(const Measurements& measured, SloMetric metric) {
  switch (metric) {
    case SloMetric::ttft:
      return measured.ttft_s;
    case SloMetric::tpot:
      return measured.tpot_s;
    case SloMetric::itl:
      return measured.largest_gap_s;
    case SloMetric::e2e:
      break;
  }
  return measured.e2e_s;
}

}  // namespace kvsim::serving
