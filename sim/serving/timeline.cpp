#include "sim/serving/request_log.h"

namespace kvsim::serving {
namespace {

template <class T>
void drop_every_second(std::vector<T>& series) {
  for (std::size_t i = 0; i < series.size() / 2; ++i) series[i] = series[2 * i + 1];
  series.resize(series.size() / 2);
}

}  // namespace

GpuTime& GpuTime::operator+=(const GpuTime& other) {
  hbm_bandwidth += other.hbm_bandwidth;
  compute += other.compute;
  link += other.link;
  idle += other.idle;
  return *this;
}

void Timeline::add(const LoadSample& sample, const LinkTimes& times) {
  samples.push_back(sample);
  for (const auto& [name, time] : times) {
    LinkSeries& series = links[name];
    series.links = time.links;
    series.busy_s.push_back(time.busy_s);
  }
  if (samples.size() < most) return;
  drop_every_second(samples);
  for (auto& [name, series] : links) drop_every_second(series.busy_s);
  period_s *= 2;
}

}  // namespace kvsim::serving
