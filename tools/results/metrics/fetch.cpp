// A low-bit copy on the GPU, and what is fetched from host memory beside it: measured, and what follows from the
// configuration at the mean request of the run.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "models/hardware/link_spec.h"
#include "models/kernels/step_time.h"
#include "models/prefetch/prefetch_spec.h"
#include "planner/prefetch/prefetch_plan.h"
#include "planner/prefetch/step_estimate.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using models::PrefetchQuality;
using serving::Fetch;
using serving::FetchMeasurement;

constexpr std::string_view kNoStep = "nothing was decoded in the measured time";
constexpr std::string_view kNoFetch = "nothing was fetched in the measured time";

const serving::DecodePolicy& policy_in(const serving::ServingConfig& config) {
  return *serving::find_decode_policy(config.decode.policy);
}

const Condition kLowBitOrFetches{"with a low-bit copy on the GPU, or where KV is fetched",
                                 holds_low_bit_copy_or_fetches};
const Condition kFetches{"where KV is fetched from host memory or a storage node",
                         [](const scenario::Scenario& s) { return policy_in(s.serving).fetch != Fetch::none; }};
const Condition kFetchesPairs{"where chosen pairs are fetched from host memory or a storage node",
                              [](const scenario::Scenario& s) { return policy_in(s.serving).fetches_pairs(); }};
const Condition kFetchesAhead{"where a speculative token chooses the pairs to fetch", [](const scenario::Scenario& s) {
                                return policy_in(s.serving).fetches_pairs() &&
                                       policy_in(s.serving).fetch == Fetch::speculative;
                              }};

/// Figures that follow from the configuration and the mean request of the run.
class Means {
 public:
  explicit Means(const View& view)
      : config(view.config()),
        decode(policy_in(config)),
        measured(view.measured().fetch),
        group(*serving::kinds(config.cluster).front()),
        geometry(serving::configured_geometry(config, group)) {
    const auto requests = static_cast<double>(measured.request_steps);
    const std::size_t steps = view.measured().iteration_s.count();
    if (requests <= 0 || steps == 0) return;  // some may have begun a step that did not end
    context = std::llround(measured.context_tokens / requests);
    batch = requests / static_cast<double>(steps);
  }

  const serving::ServingConfig& config;
  const serving::DecodePolicy& decode;
  const FetchMeasurement& measured;
  const serving::GroupConfig& group;  ///< between pools, the local one where it has nodes
  serving::KvGeometry geometry;
  double batch = kNone;
  std::int64_t context = 0;  ///< 0: no step that decodes has ended

  /// Rows of a context that is long enough to choose from.
  [[nodiscard]] models::LayerFetch rows() const {
    return models::layer_fetch(config.decode.prefetch, config.model, group.parallel.tensor, config.model.max_context);
  }
  /// Between pools, of the local one where it has nodes.
  [[nodiscard]] const models::LinkSpec& link() const { return serving::kv_links(config).front().spec; }
  [[nodiscard]] const models::GatherMethod* method() const {
    return models::find_gather(link(), config.decode.prefetch.copies, rows().row_bytes);
  }
  /// Cost of one more query token a request on this machine at the mean batch.
  [[nodiscard]] double two_token_cost() const {
    return models::two_token_cost(serving::step_timer(config, group, group.parallel.tensor), two_tokens(),
                                  std::max(batch, 1.0));
  }
  [[nodiscard]] models::TwoTokenBatches two_token_batches() const {
    return models::two_token_batches(serving::step_timer(config, group, group.parallel.tensor), two_tokens(),
                                     planner::kLargestBatch, planner::kFreeShare);
  }

 private:
  [[nodiscard]] models::TwoTokenWork two_tokens() const {
    models::StepWork work;
    serving::add_low_bit_decode(work, geometry, context, 0, 1, serving::low_bit_time_factor(config, group));
    return {work.decode.kv_bytes, static_cast<double>(context)};
  }
};

template <class T>
auto fetched(T FetchMeasurement::*member) {
  return [member](const View& v) { return count(v.measured().fetch.*member); };
}

/// A figure that needs a mean request.
template <class Value>
auto at_mean(Value value) {
  return [value](const View& v) {
    const Means means(v);
    return means.context > 0 ? number(static_cast<double>(value(means)), kNoFetch) : missing(kNoStep);
  };
}

auto covering(double PrefetchQuality::*member) {
  return [member](const View& v) {
    const Means means(v);
    if (means.context == 0) return missing(kNoStep);
    const PrefetchQuality quality =
        models::prefetch_quality(means.config.decode.prefetch, means.config.decode.compressor, means.context,
                                 means.decode.fetch == Fetch::speculative);
    return number(quality.*member, "the compressor has no quality figures");
  };
}

auto two_token_batch(std::optional<std::int64_t> models::TwoTokenBatches::*member) {
  return [member](const View& v) {
    const Means means(v);
    if (means.context == 0) return missing(kNoStep);
    const auto batch = means.two_token_batches().*member;
    return batch ? count(*batch)
                 : missing(fmt::format("not up to a batch of {} on this machine", whole(planner::kLargestBatch)));
  };
}

}  // namespace

Metrics fetch_metrics() {
  using F = FetchMeasurement;
  using Q = PrefetchQuality;
  Metrics rows =
      when(kLowBitOrFetches,
           {{"fetch.mean_batch", kPlain, kHigher, "requests that decoded, mean over all iterations",
             [](const View& v) { return number(Means(v).batch, kNoStep); }},
            {"fetch.mean_context", kTokens, kNeither, "prompt and output of a request whose KV is fetched, mean",
             at_mean([](const Means& m) { return m.context; })},
            {"fetch.resident_fraction", kShare, kLower,
             "KV bytes on the GPU over those of a 16-bit cache at the mean context", at_mean([](const Means& m) {
               return m.geometry.compressed_read(m.context, 0) / m.geometry.full_read(m.context);
             })}});
  append(
      rows,
      when(kFetches,
           {{"fetch.steps", kCount, kNeither, "iterations with a fetch", fetched(&F::steps)},
            {"fetch.bytes", kBytes, kLower, "asked for beside computing, over all steps", fetched(&F::bytes)},
            {"fetch.unused_bytes", kBytes, kLower, "bytes fetched for a token that never was decoded",
             fetched(&F::unused_bytes)},
            {"fetch.bytes_per_request_step", kBytes, kLower, "asked for, by request and step",
             [](const View& v) {
               const F& m = v.measured().fetch;
               return ratio(static_cast<double>(m.bytes), static_cast<double>(m.request_steps), kNoStep);
             }},
            {"fetch.link_s", kSeconds, kLower, "time of the fetches on the link",
             [](const View& v) { return number(v.measured().fetch.fetch_s, kNoFetch); }},
            {"fetch.wait_s", kSeconds, kLower,
             "the GPU stood still, for fetches or for loads ahead of them in the link's queue",
             [](const View& v) { return number(v.measured().fetch.wait_s, kNoFetch); }},
            {"fetch.waiting_steps", kCount, kLower, "iterations that waited for a fetch", fetched(&F::waiting_steps)},
            {"fetch.first_choices", kCount, kNeither,
             "pre-decode steps of requests: a speculative token chooses the first pairs, no output",
             fetched(&F::first_choices)},
            {"fetch.hidden", kShare, kHigher, "1 - wait / link time of all fetches: what computing hid of fetching",
             at_mean([](const Means& m) { return std::max(0.0, 1.0 - m.measured.wait_s / m.measured.fetch_s); })}}));
  append(
      rows,
      when(
          kFetchesPairs,
          {{"fetch.copies", kText, kNeither, "how rows are copied (decode.prefetch.copies)",
            [](const View& v) {
              const Means means(v);
              return means.context > 0 ? Figure{means.method()->name} : Figure{v.config().decode.prefetch.copies};
            }},
           {"fetch.row_bytes", kBytes, kNeither, "bytes of one scattered row",
            at_mean([](const Means& m) { return m.rows().row_bytes; })},
           {"fetch.row_bytes_per_s", kBytesPerS, kHigher,
            "at which the link moves rows; between pools that of a local node, if there is any",
            at_mean([](const Means& m) {
              return models::gathered_bytes_per_s(m.link(), *m.method(), m.rows().row_bytes);
            })},
           {"fetch.quality.share_of_keys", kShare, kNeither, "fetched pairs / context, at the mean context",
            covering(&Q::share_of_keys)},
           {"fetch.quality.mass", kShare, kHigher, "attention mass of a token's own top-k, at the mean context",
            covering(&Q::mass)},
           {"fetch.quality.hit_rate", kShare, kHigher,
            "share of the attention mass of a token's own top-k that the fetched set covers", covering(&Q::hit_rate)},
           {"fetch.quality.covered", kShare, kHigher, "attention mass that the fetched set covers",
            covering(&Q::covered)},
           {"fetch.quality.recovered", kShare, kHigher, "share of the score that quantising lost that comes back",
            covering(&Q::recovered)},
           {"fetch.quality.score", kPlain, kHigher, "relative to full KV, at the mean context", covering(&Q::score)}}));
  append(rows,
         when(kFetchesAhead, {{"fetch.two_token_cost", kShare, kLower,
                               "time of a step with one more query token a request over that "
                               "of one, less 1, at the mean batch and context",
                               at_mean([](const Means& m) { return m.two_token_cost(); })},
                              {"fetch.two_token_batch", kCount, kHigher,
                               "the smallest batch at which that reaches 5 % on this machine",
                               two_token_batch(&models::TwoTokenBatches::first)},
                              {"fetch.two_token_batch_always", kCount, kHigher, "from which batch on it always does",
                               two_token_batch(&models::TwoTokenBatches::always)}}));
  return rows;
}

}  // namespace kvsim::results
