#include "models/prefetch/prefetch_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "models/schemas.h"

namespace kvsim::models {
namespace {

/// Linear between the points, which ascend from `before` to `end`; constant beyond the end.
double linear_at(const std::vector<CurvePoint>& points, CurvePoint end, double at) {
  CurvePoint before{0, 0};
  const auto between = [&](const CurvePoint& after) {
    return before.value + (after.value - before.value) * (at - before.at) / (after.at - before.at);
  };
  if (at <= before.at) return before.value;
  for (const CurvePoint& point : points) {
    if (at < point.at) return between(point);
    before = point;
  }
  if (before.at >= end.at) return before.value;
  return at < end.at ? between(end) : end.value;
}

}  // namespace

double coverage_at(const AttentionProfile& profile, double share) {
  if (share <= 0) return 0;
  if (share >= 1) return 1;
  const std::vector<CurvePoint>& points = profile.coverage;
  if (points.empty()) return share;  // as if every key were alike
  if (share <= points.front().at) return points.front().value * share / points.front().at;
  CurvePoint before = points.front();
  const auto between = [&](const CurvePoint& after) {
    return before.value + (after.value - before.value) * std::log(share / before.at) / std::log(after.at / before.at);
  };
  for (const CurvePoint& point : points) {
    if (share < point.at) return between(point);
    before = point;
  }
  return between({1, 1});  // share < 1, so the last point lies before 1
}

double hit_rate_at(const AttentionProfile& profile, double bits) {
  return linear_at(profile.hit_rate, {16, 1}, bits);
}

double recovery_at(const AttentionProfile& profile, double mass) {
  return linear_at(profile.recovery, {1, 1}, mass);
}

namespace {

/// The whole number at or above x; what rounding added to a whole x does not count.
double whole_up(double x) {
  constexpr double kRounding = 1e-9;
  return std::ceil(x * (1 - kRounding));
}

double fetched_rows(const PrefetchSpec& spec, std::int64_t context) {
  return whole_up(static_cast<double>(fetched_tokens(spec, context)) / static_cast<double>(spec.row_tokens));
}

}  // namespace

double union_of_top_k(double k, double queries, double overlap, double context) {
  return std::min(context, k * (1 + (queries - 1) * (1 - overlap)));
}

std::int64_t fetched_tokens(const PrefetchSpec& spec, std::int64_t context) {
  const auto row = static_cast<double>(spec.row_tokens);
  const auto most = static_cast<double>(context);
  const double tokens =
      union_of_top_k(static_cast<double>(spec.top_k), static_cast<double>(spec.query_tokens), spec.overlap, most);
  return static_cast<std::int64_t>(std::min(most, whole_up(tokens / row) * row));
}

LayerFetch layer_fetch(const PrefetchSpec& spec, const LlmSpec& model, std::int64_t tensor_parallel,
                       std::int64_t context) {
  if (model.attention != AttentionKind::gqa) {
    throw std::invalid_argument("layer_fetch: a latent has no KV heads to choose pairs for");
  }
  const double heads =
      static_cast<double>(model.kv_heads) * model.kv_copies(tensor_parallel) / static_cast<double>(tensor_parallel);
  const double vectors = static_cast<double>(spec.row_tokens) * static_cast<double>(model.head_dim);
  const bool together = spec.layout == RowLayout::interleaved;
  LayerFetch fetch;
  fetch.rows = whole_up((1 - spec.overlap) * fetched_rows(spec, context)) * heads * (together ? 1 : 2);
  fetch.row_bytes = vectors * model.kv_bytes_per_element * (together ? 2 : 1);
  return fetch;
}

double resident_fraction(const CompressorSpec& quantiser, std::int64_t kept_tokens, std::int64_t context) {
  const std::int64_t kept = std::min(kept_tokens, context);
  return quantiser.quantised_ratio() + static_cast<double>(kept) / static_cast<double>(context);
}

PrefetchQuality prefetch_quality(const PrefetchSpec& spec, const CompressorSpec& quantiser, std::int64_t context,
                                 bool speculative) {
  const auto length = static_cast<double>(context);
  PrefetchSpec one_token = spec;
  one_token.query_tokens = 1;
  const auto own = static_cast<double>(fetched_tokens(one_token, context));
  const double own_share = own / length;
  const double rows = std::ceil(own / static_cast<double>(spec.row_tokens));

  PrefetchQuality q;
  q.share_of_keys = static_cast<double>(fetched_tokens(spec, context)) / length;
  // The best rows hold at least the most attended keys, one a row, and no less than as many keys taken blindly.
  q.mass = std::max(coverage_at(spec.attention, rows / length), own_share);
  if (speculative) q.hit_rate = std::max(hit_rate_at(spec.attention, quantiser.bits_per_element), own_share / q.mass);
  q.covered = q.mass * q.hit_rate;
  q.recovered = recovery_at(spec.attention, q.covered);
  const double ratio = quantiser.quantised_ratio();
  const double quantised = quantiser.quality_at(ratio);
  q.score = quantised + (1 - quantised) * q.recovered;
  q.step_kl = quantiser.step_kl(ratio) * (1 - q.recovered);
  return q;
}

namespace {

using namespace schema;
using CurvePoints = std::vector<CurvePoint>;

/// {points: [{at, value}], source, reference}, held in two members.
ObjectSchema<AttentionProfile> curve_schema(const char* name, const char* description,
                                            CurvePoints AttentionProfile::*points, Source AttentionProfile::*source,
                                            const ScalarSpec& at, const char* at_is) {
  ObjectSchema<CurvePoint> point(std::string(name) + " point", "One point of the curve.");
  point.required("at", &CurvePoint::at, at, at_is);
  point.required("value", &CurvePoint::value, number().at_least(0).at_most(1), description);

  ObjectSchema<AttentionProfile> s(name, fmt::format("By {}: {}.", at_is, description));
  s.list("points", points, point, Presence::required, "ascending in at, not falling in value", {.at_least = 1});
  add_source_fields(s, source, Presence::optional);
  s.check([points, at_is](const AttentionProfile& profile, const Reporter& report) {
    const CurvePoints& given = std::invoke(points, profile);
    for (std::size_t i = 1; i < given.size(); ++i) {
      if (given[i].at <= given[i - 1].at) report.fail(fmt::format("points.{}.at", i), "the points must ascend in at");
      if (given[i].value < given[i - 1].value) {
        report.fail(fmt::format("points.{}.value", i), fmt::format("{} after {}: the curve cannot fall with the {}",
                                                                   given[i].value, given[i - 1].value, at_is));
      }
    }
  });
  return s;
}

/// The most attended keys are those that no other keys exceed: they cover their share of the mass at least.
void check_coverage(const AttentionProfile& profile, const Reporter& report) {
  for (std::size_t i = 0; i < profile.coverage.size(); ++i) {
    const CurvePoint& point = profile.coverage[i];
    if (point.value < point.at) {
      report.fail(fmt::format("coverage.points.{}.value", i),
                  fmt::format("{} of the mass on {} of the keys: the most attended keys cover their share at least",
                              point.value, point.at));
    }
  }
}

ObjectSchema<AttentionProfile> make_profile_schema() {
  using A = AttentionProfile;
  ObjectSchema<A> s("attention_profile", "How concentrated attention is, and what covering a part of it is worth.");
  add_entry_fields(s);
  s.object("coverage",
           curve_schema("coverage", "attention mass on them", &A::coverage, &A::coverage_source,
                        number().above(0).at_most(1), "share of the keys, the most attended first"),
           Presence::required,
           "linear in log(share), proportional to the share below the first point, 1 with all the keys");
  s.object("hit_rate",
           curve_schema("hit_rate",
                        "of the mass that the next token's own choice covers, what the speculative token's covers",
                        &A::hit_rate, &A::hit_rate_source, number().above(0).at_most(16), "bits of the low-bit copy"),
           Presence::required, "how well the step before chooses: linear, from 0 at no bits to 1 at 16");
  s.object("recovery",
           curve_schema("recovery", "of the score that quantising lost, what comes back", &A::recovery,
                        &A::recovery_source, number().above(0).at_most(1), "attention mass covered"),
           Presence::required, "what fetched pairs give back: linear, from 0 for nothing to 1 for all the mass");
  s.check(check_coverage);
  return s;
}

ObjectSchema<PrefetchSpec> make_prefetch_schema() {
  using P = PrefetchSpec;
  ObjectSchema<P> s("prefetch", "Fetching the KV pairs a token attends to most, beside a copy of few bits on the GPU.");
  s.optional("top_k", &P::top_k, integer().at_least(1),
             "KV pairs a query token's scores choose, per layer and KV head");
  s.optional("overlap", &P::overlap, number().at_least(0).below(1).because("it is a share, and something is new"),
             "share of a token's pairs that the next token's hold too: not fetched again");
  s.optional("query_tokens", &P::query_tokens, integer().at_least(1).at_most(64),
             "speculative tokens a step whose pairs are fetched together");
  s.optional("row_tokens", &P::row_tokens, integer().at_least(1),
             "number of neighbouring tokens that are chosen and fetched together");
  s.optional("layout", &P::layout,
             choice<RowLayout>({{"separate", RowLayout::separate, "keys and values apart: two rows a pair"},
                                {"interleaved", RowLayout::interleaved, "a token's key beside its value: one row"}}),
             "where a pair lies in host memory");
  s.optional("dequantisation", &P::dequantisation,
             choice<Dequantisation>(
                 {{"fused", Dequantisation::fused,
                   "in the attention kernel: by the profile's attention.low_bit, else as "
                   "schedule.engine says of it"},
                  {"unfused", Dequantisation::unfused, "to 16 bit in GPU memory first, then read from there"}}),
             "how attention reads the low-bit copy");
  s.optional(
      "attends_again", &P::attends_again, boolean(),
      "fetch_on_demand: a whole attention chooses the pairs and another is computed with them; false: the scores of "
      "one attention choose, which goes on when they are there");
  s.optional("copies", &P::copies, text().non_empty(), "one of the link's gathers; best: the fastest of them");
  s.optional("buffered_layers", &P::buffered_layers, integer().at_least(1),
             "full_offload: layers whose KV the GPU has room for");
  s.reference("attention", &P::attention, "attention_profile", attention_profile_schema(), Presence::optional,
              "how concentrated attention is; left out: specache-published");
  return s;
}

}  // namespace

const ObjectSchema<AttentionProfile>& attention_profile_schema() {
  static const ObjectSchema<AttentionProfile> schema = make_profile_schema();
  return schema;
}

const ObjectSchema<PrefetchSpec>& prefetch_schema() {
  static const ObjectSchema<PrefetchSpec> schema = make_prefetch_schema();
  return schema;
}

}  // namespace kvsim::models
