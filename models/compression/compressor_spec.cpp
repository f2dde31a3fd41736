#include "models/compression/compressor_spec.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "models/schemas.h"

namespace kvsim::models {
namespace {

constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

/// Distance from lossless in which published losses are taken to be proportional: 1/c - 1.
double compression_excess(double keep_ratio) {
  return 1.0 / keep_ratio - 1.0;
}

/// A loss over the keep ratio, 0 at c = 1: linear in 1/c - 1 between the given points and from the nearest point
/// (through the origin below the first, along the last slope from the origin beyond the last). Points are ascending
/// in keep ratio.
double loss_at(const std::vector<KeepRatioPoint>& points, double keep_ratio) {
  if (points.empty()) return kNotGiven;
  if (keep_ratio >= 1.0) return 0.0;
  const double u = compression_excess(keep_ratio);
  double u_before = 0, loss_before = 0;
  for (auto it = points.rbegin(); it != points.rend(); ++it) {
    const double u_point = compression_excess(it->keep_ratio);
    if (u <= u_point && u_point > u_before) {
      return loss_before + (it->value - loss_before) * (u - u_before) / (u_point - u_before);
    }
    u_before = u_point;
    loss_before = it->value;
  }
  return u_before > 0 ? loss_before * u / u_before : loss_before;
}

}  // namespace

double CompressorSpec::quantised_ratio() const {
  const double metadata = group_size > 0 ? 2.0 / static_cast<double>(group_size) : 0.0;
  return std::min(1.0, bits_per_element / 16.0 + (bits_per_element < 16 ? metadata : 0.0));
}

double CompressorSpec::step_kl(double keep_ratio) const {
  return loss_at(step_kl_nats, keep_ratio);
}

double CompressorSpec::agreement_at(double keep_ratio) const {
  if (agreement.empty()) return std::exp(-step_kl(keep_ratio));
  std::vector<KeepRatioPoint> losses = agreement;
  for (KeepRatioPoint& p : losses) p.value = -std::log(p.value);
  return std::exp(-loss_at(losses, keep_ratio));
}

double CompressorSpec::quality_at(double keep_ratio) const {
  if (quality.empty()) return kNotGiven;
  if (keep_ratio >= 1.0) return 1.0;
  KeepRatioPoint above{1.0, 1.0};
  for (auto it = quality.rbegin(); it != quality.rend(); ++it) {
    if (keep_ratio >= it->keep_ratio) {
      if (above.keep_ratio <= it->keep_ratio) return it->value;
      const double share = (keep_ratio - it->keep_ratio) / (above.keep_ratio - it->keep_ratio);
      return it->value + share * (above.value - it->value);
    }
    above = *it;
  }
  return above.value * keep_ratio / above.keep_ratio;  // towards 0 with nothing kept
}

FunctionalScores CompressorSpec::functional_at(double keep_ratio) const {
  if (keep_ratio >= 1.0) return functional_of_full_kv();
  FunctionalScores scores = functional_unknown();
  for (std::size_t task = 0; task < scores.size(); ++task) {
    const std::vector<KeepRatioPoint>& points = functional[task].points;
    if (points.empty()) continue;
    if (keep_ratio > points.back().keep_ratio) return functional_unknown();
    scores[task] = points.front().value;
    for (std::size_t i = 1; i < points.size() && keep_ratio > points[i - 1].keep_ratio; ++i) {
      const KeepRatioPoint &below = points[i - 1], &above = points[i];
      const double share = std::min(1.0, (keep_ratio - below.keep_ratio) / (above.keep_ratio - below.keep_ratio));
      scores[task] = below.value + share * (above.value - below.value);
    }
  }
  return scores;
}

namespace {

using namespace schema;
using KeepRatioPoints = std::vector<KeepRatioPoint>;

/// One curve over the keep ratio: {points: [{keep_ratio, value}], source, reference}. `points` and `source` access it.
template <class Points, class SourceOf>
ObjectSchema<CompressorSpec> curve_schema(const char* name, const char* description, Points points, SourceOf source,
                                          const ScalarSpec& value) {
  ObjectSchema<KeepRatioPoint> point(std::string(name) + " point", "One point of the curve.");
  point.required("keep_ratio", &KeepRatioPoint::keep_ratio,
                 number().above(0).at_most(1).because("it is compressed bytes over full bytes"),
                 "compressed KV bytes over full KV bytes");
  point.required("value", &KeepRatioPoint::value, value, description);

  ObjectSchema<CompressorSpec> s(name, std::string("Over the keep ratio: ") + description + ".");
  s.list("points", points, point, Presence::required, "ascending in keep_ratio", {.at_least = 1});
  add_source_fields(s, source, Presence::optional);
  s.check([points](const CompressorSpec& compressor, const Reporter& report) {
    const KeepRatioPoints& given = std::invoke(points, compressor);
    for (std::size_t i = 1; i < given.size(); ++i) {
      if (given[i].keep_ratio <= given[i - 1].keep_ratio) {
        report.fail("points." + std::to_string(i) + ".keep_ratio", "the points must ascend in keep_ratio");
      }
    }
  });
  return s;
}

/// A loss falls, a score rises, as more is kept: `sign` is -1 for losses.
template <class Points>
ObjectSchema<CompressorSpec>::Check monotone(std::string key, Points points, double sign, const char* reason) {
  return [=](const CompressorSpec& compressor, const Reporter& report) {
    const KeepRatioPoints& given = std::invoke(points, compressor);
    for (std::size_t i = 1; i < given.size(); ++i) {
      if (sign * given[i].value < sign * given[i - 1].value) {
        report.fail(key + ".points." + std::to_string(i) + ".value", reason);
      }
    }
  };
}

void check_kind(const CompressorSpec& compressor, const Reporter& report) {
  const bool narrow = compressor.bits_per_element < 16;
  if (compressor.kind == CompressionKind::token_dropping && narrow) {
    report.fail("bits_per_element", "token_dropping keeps elements whole (16 bits); expected kind: both");
  }
  if (compressor.kind != CompressionKind::token_dropping && !narrow) {
    report.fail("bits_per_element", "must be below 16: a quantiser that narrows nothing is none");
  }
  if (compressor.kind != CompressionKind::token_dropping && compressor.reload == ReloadContent::missing) {
    report.fail("reload", "must be whole: quantised tokens are not exact, so nothing of the full KV is on the GPU");
  }
}

/// KV that every draft chooses anew out of the whole is neither narrower, nor sent, nor known beforehand.
void check_reads_only(const CompressorSpec& compressor, const Reporter& report) {
  if (!compressor.reads_only) return;
  if (compressor.kind != CompressionKind::token_dropping) {
    report.fail("reads_only", "needs kind token_dropping: the whole KV stays as it is, and some of it is read");
  }
  if (compressor.mode == CompressionMode::offline) {
    report.fail("reads_only", "needs mode online: what to read is chosen while decoding");
  }
  if (compressor.remote_prefix) {
    report.fail("remote_prefix", "must be false with reads_only: there is nothing smaller to send");
  }
}

void add_character(ObjectSchema<CompressorSpec>& s) {
  using C = CompressorSpec;
  s.required("kind", &C::kind,
             choice<CompressionKind>({{"token_dropping", CompressionKind::token_dropping, "keeps some tokens, exactly"},
                                      {"quantisation", CompressionKind::quantisation, "keeps all tokens in fewer bits"},
                                      {"both", CompressionKind::both, "keeps some tokens in fewer bits"}}),
             "what it does to the cache");
  s.required(
      "mode", &C::mode,
      choice<CompressionMode>({{"offline", CompressionMode::offline, "off the serving GPU, before the request"},
                               {"online", CompressionMode::online, "on the serving GPU, during or after prefill"}}),
      "when it compresses");
  s.required("scope", &C::scope,
             choice<CompressionScope>({{"prompt", CompressionScope::prompt, "the prompt; generated tokens stay whole"},
                                       {"all", CompressionScope::all, "generated tokens too"}}),
             "which positions it compresses");
  s.required("reload", &C::reload,
             choice<ReloadContent>({{"missing", ReloadContent::missing, "the dropped tokens: kept ones are exact"},
                                    {"whole", ReloadContent::whole, "the whole KV"}}),
             "what a verification must bring to the GPU");
  s.optional("long_context", &C::long_context, boolean(), "usable for drafting on one replica");
  s.optional("remote_prefix", &C::remote_prefix, boolean(), "usable for transfer between pools");
  s.optional("reads_only", &C::reads_only, boolean(),
             "chooses anew what to read out of the whole KV, which must stay in GPU "
             "memory: nothing smaller can be kept or moved");
}

/// The curves of functional correctness, a task a key.
ObjectSchema<CompressorSpec> functional_schema() {
  ObjectSchema<CompressorSpec> s("functional",
                                 "Functional correctness by task: the share of right answers over that of full KV.");
  for (std::size_t task = 0; task < kFunctionalTasks.size(); ++task) {
    const auto points = [task](auto& c) -> auto& {
      return c.functional[task].points;
    };
    const auto source = [task](auto& c) -> auto& {
      return c.functional[task].source;
    };
    const FunctionalTask& of = kFunctionalTasks[task];
    s.object(of.key, curve_schema(of.key, of.description, points, source, number().at_least(0).at_most(1)),
             Presence::optional, of.description);
    s.check(monotone(of.key, points, 1, "falls with keep_ratio: keeping more cannot be right less often"));
  }
  return s;
}

ObjectSchema<CompressorSpec> compressor_fields() {
  using C = CompressorSpec;
  C defaults;
  defaults.attention_time_factor.value = 1;
  ObjectSchema<C> s("compressor", "A KV compressor: what it keeps, what it costs, how well drafts from it agree.",
                    defaults);
  add_entry_fields(s);
  add_character(s);
  s.optional("bits_per_element", &C::bits_per_element, number().above(0).at_most(16), "width of a kept element");
  s.optional("group_size", &C::group_size, integer().non_negative(),
             "elements that share a 16-bit scale and a 16-bit zero point; 0: no such metadata");
  s.optional("residual_tokens", &C::residual_tokens, integer().non_negative(),
             "number of most recent tokens always kept whole on the GPU");
  s.optional("sink_tokens", &C::sink_tokens, integer().non_negative(),
             "number of first tokens always kept whole on the GPU");
  s.optional("whole_layers", &C::whole_layers, integer().non_negative().at_most(10000),
             "number of layers whose KV stays whole");
  s.optional(
      "compress_rate", &C::compress_bytes_per_s, bandwidth().positive(),
      "full-KV bytes per second; left out: by the time of the kernels that it takes (online), or free (offline)");
  s.optional("decompress_rate", &C::decompress_bytes_per_s, bandwidth().positive(),
             "full-KV bytes per second; left out: free");
  s.optional("attention_time_factor", &C::attention_time_factor, number().positive().usually(0.001, 1000),
             "time of attention over compressed KV over the time for as many bytes of whole KV");
  s.object("step_kl",
           curve_schema("step_kl", "KL divergence per decoding step between compressed and full KV, in nats",
                        &C::step_kl_nats, &C::step_kl_source, number().non_negative()),
           Presence::optional, "how far a step drifts from the full KV");
  s.object("agreement",
           curve_schema("agreement", "probability that a drafted token is the full KV's", &C::agreement,
                        &C::agreement_source, number().above(0).at_most(1).because("it is a probability")),
           Presence::optional, "per-token agreement where published; otherwise exp(-step_kl)");
  s.object("quality",
           curve_schema("quality", "task score relative to the full KV", &C::quality, &C::quality_source,
                        number().at_least(0).at_most(1)),
           Presence::optional, "task score without verification");
  s.object("functional", functional_schema(), Presence::optional,
           "share of answers that are right as a whole, without verification");
  s.check(check_kind);
  s.check(check_reads_only);
  s.check(monotone("step_kl", &C::step_kl_nats, -1, "rises with keep_ratio: keeping more cannot drift further"));
  s.check(monotone("agreement", &C::agreement, 1, "falls with keep_ratio: keeping more cannot agree less"));
  return s;
}

}  // namespace

const ObjectSchema<CompressorSpec>& compressor_schema() {
  static const ObjectSchema<CompressorSpec> schema = compressor_fields();
  return schema;
}

}  // namespace kvsim::models
