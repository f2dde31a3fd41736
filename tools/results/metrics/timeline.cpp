// The first replication's load over time, warm-up included. Requests and bytes are of the time that time_s names,
// shares of the period that ends there, means over replicas or nodes, or over the links of a name.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/serving/bottleneck.h"
#include "tools/results/metrics/metric.h"

namespace kvsim::results {
namespace {

using serving::LoadSample;
using serving::Timeline;

const Timeline& timeline(const View& v) {
  return v.outcome.result.timeline;
}

template <class Value>
auto series(Value value) {
  return [value](const View& v) {
    Json list = Json::array();
    for (const LoadSample& sample : timeline(v).samples) list.push_back(value(sample));
    return Figure{std::move(list)};
  };
}

/// Shares of each period's time, from sums since the start: `whole_s` is a period, times what there is to be busy.
Json period_shares(const std::vector<double>& sums_s, double whole_s) {
  Json list = Json::array();
  double before_s = 0;
  for (const double sum_s : sums_s) {
    list.push_back(std::max(at_most_whole(sum_s - before_s, whole_s), 0.0) / whole_s);  // sums are rounded
    before_s = sum_s;
  }
  return list;
}

auto gpu_share(const serving::TimePartName& part) {
  return [&part](const View& v) {
    std::vector<double> sums_s;
    for (const LoadSample& sample : timeline(v).samples) sums_s.push_back(part.seconds(sample.gpu));
    const auto groups = static_cast<double>(serving::instances(v.config().cluster));
    return Figure{period_shares(sums_s, timeline(v).period_s * groups)};
  };
}

Figure times(const View& v) {
  Json list = Json::array();
  for (std::size_t i = 0; i < timeline(v).samples.size(); ++i) {
    list.push_back(static_cast<double>(i + 1) * timeline(v).period_s);
  }
  return {std::move(list)};
}

/// Null where no request finished in the period.
Figure qualities(const View& v) {
  Json list = Json::array();
  LoadSample before;
  for (const LoadSample& sample : timeline(v).samples) {
    const auto scored = static_cast<double>(sample.scored - before.scored);
    list.push_back(scored > 0 ? Json((sample.quality - before.quality) / scored) : Json());
    before = sample;
  }
  return {std::move(list)};
}

Figure link_shares(const View& v) {
  Json all = Json::object();
  for (const auto& [name, link] : timeline(v).links) {
    all[name] = period_shares(link.busy_s, timeline(v).period_s * static_cast<double>(link.links));
  }
  return {std::move(all)};
}

}  // namespace

Metrics timeline_metrics() {
  Metrics rows{{"timeline.period_s", kSeconds, kNeither, "time between samples",
                [](const View& v) { return Figure{timeline(v).period_s}; }},
               {"timeline.warmup_s", kSeconds, kNeither, "time before the measured time",
                [](const View& v) { return Figure{v.config().run.warmup_s}; }},
               {"timeline.seed", kCount, kNeither, "seed of the replication that is drawn",
                [](const View& v) { return count(v.config().run.seed); }},
               {"timeline.kv_capacity_bytes", kBytes, kNeither, "GPU memory for KV over all replicas or nodes",
                [](const View& v) { return count(timeline(v).kv_capacity_bytes); }}};
  append(rows,
         several("[]", {{"timeline.time_s", kSeconds, kNeither, "times of the samples", times},
                        {"timeline.running", kRequests, kNeither, "requests that run at each sample",
                         series([](const LoadSample& s) { return s.running; })},
                        {"timeline.waiting", kRequests, kNeither, "requests that wait; a preempted one does",
                         series([](const LoadSample& s) { return s.waiting; })},
                        {"timeline.kv_bytes", kBytes, kNeither, "KV memory that is reserved",
                         series([](const LoadSample& s) { return s.kv_bytes; })},
                        {"timeline.kv_parts_bytes.resident", kBytes, kNeither, "KV memory for what is not streaming",
                         series([](const LoadSample& s) { return s.kv_bytes - s.kv_streaming_bytes; })},
                        {"timeline.kv_parts_bytes.streaming", kBytes, kNeither,
                         "KV memory for full KV on its way or there for a verification",
                         series([](const LoadSample& s) { return s.kv_streaming_bytes; })}}));
  Metrics parts;
  for (const serving::TimePartName& part : serving::kTimeParts) {
    parts.push_back({fmt::format("timeline.gpu.{}", part.key), kShare, kNeither,
                     fmt::format("share of each period {}", part.time), gpu_share(part)});
  }
  append(rows, several("[]", std::move(parts)));
  append(rows, when(kPlaces, several("[]", {{"timeline.quality", kPlain, kHigher,
                                             "mean placement.quality of the requests that finish in each period; null "
                                             "where none does",
                                             qualities}})));
  append(rows, several(".*[]", {{"timeline.links", kShare, kNeither, "share of each period in which that link is busy",
                                 link_shares}}));
  return rows;
}

}  // namespace kvsim::results
