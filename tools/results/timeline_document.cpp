#include "tools/results/timeline_document.h"

#include <vector>

namespace kvsim::results {
namespace {

using engine::Duration;
using serving::GpuTime;
using serving::LoadSample;
using serving::Timeline;

template <class Value>
Json series(const Timeline& t, Value&& value) {
  Json list = Json::array();
  for (const LoadSample& sample : t.samples) list.push_back(value(sample));
  return list;
}

/// Shares of each period's time, from sums since the start: `whole_s` is a period, times what there is to be busy.
Json shares(const std::vector<double>& sums_s, double whole_s) {
  Json list = Json::array();
  double before_s = 0;
  for (const double sum_s : sums_s) {
    list.push_back((sum_s - before_s) / whole_s);
    before_s = sum_s;
  }
  return list;
}

Json gpu_shares(const Timeline& t, std::int64_t groups) {
  const auto share = [&](Duration GpuTime::*part) {
    std::vector<double> sums_s;
    sums_s.reserve(t.samples.size());
    for (const LoadSample& sample : t.samples) sums_s.push_back((sample.gpu.*part).seconds());
    return shares(sums_s, t.period_s * static_cast<double>(groups));
  };
  return {{"hbm_bandwidth", share(&GpuTime::hbm_bandwidth)},
          {"compute", share(&GpuTime::compute)},
          {"link", share(&GpuTime::link)},
          {"idle", share(&GpuTime::idle)}};
}

Json link_shares(const Timeline& t) {
  Json all = Json::object();
  for (const auto& [name, link] : t.links) {
    all[name] = shares(link.busy_s, t.period_s * static_cast<double>(link.links));
  }
  return all;
}

}  // namespace

Json timeline_json(const Timeline& t, const scenario::Scenario& scenario) {
  const serving::ServingConfig& config = scenario.serving;
  Json times = Json::array();
  for (std::size_t i = 0; i < t.samples.size(); ++i) times.push_back(static_cast<double>(i + 1) * t.period_s);
  Json parts = {{"resident", series(t, [](const LoadSample& s) { return s.kv_bytes - s.kv_streaming_bytes; })},
                {"streaming", series(t, [](const LoadSample& s) { return s.kv_streaming_bytes; })}};
  return {{"period_s", t.period_s},
          {"warmup_s", config.run.warmup_s},
          {"seed", config.run.seed},
          {"kv_capacity_bytes", t.kv_capacity_bytes},
          {"time_s", std::move(times)},
          {"running", series(t, [](const LoadSample& s) { return s.running; })},
          {"waiting", series(t, [](const LoadSample& s) { return s.waiting; })},
          {"kv_bytes", series(t, [](const LoadSample& s) { return s.kv_bytes; })},
          {"kv_parts_bytes", std::move(parts)},
          {"gpu", gpu_shares(t, serving::groups(config.cluster))},
          {"links", link_shares(t)}};
}

}  // namespace kvsim::results
