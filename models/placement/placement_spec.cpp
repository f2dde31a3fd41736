#include "models/placement/placement_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/schemas.h"

namespace kvsim::models {
namespace {

using namespace schema;

ObjectSchema<UtilitySpec> utility_schema() {
  using U = UtilitySpec;
  ObjectSchema<U> s("utility",
                    "What policy utility makes largest: (alpha quality - TTFT) frequency, over all objects.");
  s.optional("alpha", &U::alpha_s, time().non_negative().usually(0, 1e12),
             "time to first token that a quality of 1 is worth");
  s.optional("variant", &U::variant,
             choice<UtilityVariant>(
                 {{"least_drop", UtilityVariant::least_drop, "the least loss of utility, as published"},
                  {"least_drop_per_byte", UtilityVariant::least_drop_per_byte, "the least loss for each byte freed"},
                  {"least_drop_for_need", UtilityVariant::least_drop_for_need,
                   "per byte, but bytes beyond three times what the tier lacks count for nothing"}}),
             "which option an overflowing tier takes first");
  s.optional("first", &U::first,
             choice<FirstPlacement>(
                 {{"best", FirstPlacement::best,
                   "in the tier and representation in which a use of it is worth most (EvicPress, section 4.4)"},
                  {"whole", FirstPlacement::whole,
                   "whole wherever a tier can hold it so (EvicPress, appendix A: at the highest quality)"}}),
             "where a new object goes, before room is made");
  s.optional("targets", &U::targets,
             choice<EvictionTargets>({{"any_lower", EvictionTargets::any_lower,
                                       "any lower tier in which it is worth most (EvicPress, section 4.4)"},
                                      {"next", EvictionTargets::next, "the first tier below that can hold it"}}),
             "where an object that leaves a full tier may go; it matters where a tier further down is faster, or holds "
             "what the next one cannot");
  s.optional("frequency", &U::frequency,
             choice<FrequencyKind>({{"count", FrequencyKind::count, "accesses so far"},
                                    {"decayed", FrequencyKind::decayed, "each access counts half after a half-life"}}),
             "how often an object is taken to be read");
  s.optional("half_life", &U::half_life_s, time().positive(), "after which an access counts half (frequency: decayed)");
  s.optional(
      "bandwidth", &U::bandwidth,
      choice<BandwidthBelief>({{"nominal", BandwidthBelief::nominal, "what tiers and links have now"},
                               {"observed", BandwidthBelief::observed, "what loads got lately, waiting included"}}),
      "what the policy takes a tier's bandwidth to be");
  s.optional(
      "recompute", &U::recompute, boolean(),
      "what is computed sooner than it is loaded is given up; else only what leaves the last tier is, as published "
      "(computing keeps the GPU from other requests, and the utility does not see that)");
  s.optional("promote", &U::promote, boolean(),
             "what is loaded moves up where that gains more than what makes room for it loses");
  s.unread({"half_life"}, [](const U& u) {
    return u.frequency == FrequencyKind::decayed ? "" : "accesses are counted: use frequency: decayed";
  });
  return s;
}

/// Stored objects drop tokens or narrow all of them; both at once is a combination of two options.
void check_kind(const CompressorSpec& compressor, CompressionKind kind, const std::string& key, const char* expected,
                const Reporter& report) {
  if (compressor.kind != kind) report.fail(key, fmt::format("{} {}", compressor.name, expected));
}

void check_quantiser(const CompressorSpec& compressor, const std::string& key, const Reporter& report) {
  if (std::isnan(compressor.quality_at(compressor.quantised_ratio()))) {
    report.fail(key, fmt::format("{} has no quality curve, which stored objects need: add `quality` to its entry",
                                 compressor.name));
  }
}

/// The place of an item that equals one before it.
template <class T, class Key>
std::optional<std::size_t> repeated(const std::vector<T>& items, const Key& key) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (key(items[i]) == key(items[j])) return i;
    }
  }
  return std::nullopt;
}

void check_options(const OptionsSpec& o, const Reporter& report) {
  const auto name = [](const CompressorSpec& c) { return c.name; };
  for (std::size_t i = 0; i < o.methods.size(); ++i) {
    check_kind(o.methods[i], CompressionKind::token_dropping, fmt::format("methods.{}", i),
               "does not only drop tokens: move it to quantisers, or choose a method that drops tokens", report);
  }
  for (std::size_t i = 0; i < o.quantisers.size(); ++i) {
    const std::string key = fmt::format("quantisers.{}", i);
    check_kind(o.quantisers[i], CompressionKind::quantisation, key,
               "does not only narrow elements: move it to methods, or choose a quantiser", report);
    check_quantiser(o.quantisers[i], key, report);
  }
  if (const auto i = repeated(o.methods, name)) {
    report.fail(fmt::format("methods.{}", *i), fmt::format("{} is in the list twice: remove one", o.methods[*i].name));
  }
  if (const auto i = repeated(o.quantisers, name)) {
    report.fail(fmt::format("quantisers.{}", *i),
                fmt::format("{} is in the list twice: remove one", o.quantisers[*i].name));
  }
  if (const auto i = repeated(o.keep_ratios, [](double ratio) { return ratio; })) {
    report.fail(fmt::format("keep_ratios.{}", *i),
                fmt::format("{} is in the list twice: remove one", o.keep_ratios[*i]));
  }
}

ObjectSchema<OptionsSpec> options_schema() {
  using O = OptionsSpec;
  ObjectSchema<O> s("options",
                    "What policy utility may make of an object: whole, each method at each keep ratio, each quantiser, "
                    "and both together.");
  s.reference_list("methods", &O::methods, "compressor", compressor_schema(), Presence::optional,
                   "compressors that drop tokens; left out: kvzip, knorm, snapkv", {.at_least = 1});
  s.list("keep_ratios", &O::keep_ratios, number().above(0).below(1).because("the whole object is an option anyway"),
         Presence::optional, "tokens kept / tokens, of every method", {.at_least = 1, .at_most = 64});
  s.reference_list("quantisers", &O::quantisers, "compressor", compressor_schema(), Presence::optional,
                   "compressors that narrow elements");
  s.optional("combine", &O::combine, boolean(), "each quantiser on what each method keeps, too");
  s.check(check_options);
  return s;
}

ObjectSchema<ImportanceSpec> importance_schema() {
  using I = ImportanceSpec;
  ObjectSchema<I> s("importance", "What policy importance_chunks stores: chunks that hold an important token.");
  s.optional("share", &I::share, number().above(0).below(1).because("with all tokens important there is no choice"),
             "of the tokens, that few heads attend to most");
  s.optional("chunk_tokens", &I::chunk_tokens, tokens().at_least(1), "tokens that are stored and loaded together");
  s.optional("run_tokens", &I::run_tokens, number().at_least(1), "important tokens stand together in runs of so many");
  s.optional("probed", &I::probed, number().non_negative().at_most(1),
             "share of the KV that a CPU worker reads to choose them, at placement.worker_rate; by default the keys of "
             "three heads of eight (EvicPress, section 6.1: its baseline IMPRESS)");
  return s;
}

void check_quality(const QualitySpec& q, const Reporter& report) {
  if (q.source == QualitySource::file) {
    if (q.path.empty()) {
      report.fail("",
                  "missing key \"path\", expected a CSV file with the columns context, method, keep_ratio, quality");
    }
  }
  const double sum = q.best_kvzip + q.best_knorm + q.best_snapkv + q.best_keydiff;
  if (std::abs(sum - 1) > 1e-9) {
    report.fail("best", fmt::format("kvzip {}, knorm {}, snapkv {} and keydiff {} add up to {:.6g}: "
                                    "shares of all contexts must add up to 1",
                                    q.best_kvzip, q.best_knorm, q.best_snapkv, q.best_keydiff, sum));
  }
  if (q.advantage > q.disadvantage) {
    report.fail("advantage", fmt::format("{} is above disadvantage, {}: the method that suits a context best cannot "
                                         "lose more than the others",
                                         q.advantage, q.disadvantage));
  }
}

ObjectSchema<QualitySpec> quality_schema() {
  using Q = QualitySpec;
  const auto share = [] { return number().at_least(0).at_most(1).because("it is a share of the contexts"); };
  ObjectSchema<Q> best("best", "Which method suits a context best, in shares of the contexts.");
  best.optional("kvzip", &Q::best_kvzip, share(), "KVzip loses least");
  best.optional("knorm", &Q::best_knorm, share(), "Knorm loses least");
  best.optional("snapkv", &Q::best_snapkv, share(), "SnapKV loses least");
  best.optional("keydiff", &Q::best_keydiff, share(),
                "KeyDiff loses least: what it always does, the others `disadvantage` times that");

  ObjectSchema<Q> s("quality", "How much of its quality each context loses in each option.");
  s.optional("source", &Q::source,
             choice<QualitySource>({{"generated", QualitySource::generated, "drawn for each context from its dataset"},
                                    {"file", QualitySource::file, "read from `path`"}}),
             "where the curves come from");
  s.optional(
      "path", &Q::path, text(),
      "file: CSV with the columns context (number or *), method, keep_ratio, quality; relative to the scenario's "
      "folder, or to the working directory where it is not there");
  s.optional("advantage", &Q::advantage, number().at_least(0).at_most(1),
             "generated: loss of a context by the method that suits it best / its loss by KeyDiff");
  s.optional("disadvantage", &Q::disadvantage, number().at_least(0).at_most(10),
             "generated: loss by the other methods / its loss by KeyDiff");
  s.optional("shape", &Q::shape, number().positive().at_most(10),
             "loss at keep ratio c is that at 0.1, times ((1 - c)/0.9)^shape; drift of curves from a file, too");
  s.object("best", best, Presence::optional, "generated: shares that add up to 1");
  s.unread({"path"},
           [](const Q& q) { return q.source == QualitySource::file ? "" : "curves are generated: use source: file"; });
  s.unread({"advantage", "disadvantage", "best"}, [](const Q& q) {
    return q.source == QualitySource::generated ? "" : "a file has the curves: use source: generated";
  });
  s.check(check_quality);
  return s;
}

ObjectSchema<DriftSpec> drift_schema() {
  using D = DriftSpec;
  ObjectSchema<D> s("drift",
                    "Real queries drift from those that were profiled: true quality changes, the profile not.");
  s.optional("every", &D::every_s, time().non_negative(), "mean time between changes of one context; 0: never");
  s.optional("magnitude", &D::magnitude, number().positive().at_most(1),
             "standard deviation of a change of a context's loss at keep ratio 0.1");
  s.unread({"magnitude"},
           [](const D& d) { return d.every_s > 0 ? "" : "quality never changes: give every, such as every: 60 s"; });
  s.check([](const D& d, const Reporter& report) {
    constexpr double kOftenest_s = 0.1;
    if (d.every_s > 0 && d.every_s < kOftenest_s) {
      report.fail("every", "expected 0 (never) or at least 100 ms: each change of each context is simulated");
    }
  });
  return s;
}

ObjectSchema<ProfilingSpec> profiling_schema() {
  using P = ProfilingSpec;
  ObjectSchema<P> s("profiling", "Profiling contexts again while the system runs, which costs decoding steps.");
  s.optional("online", &P::online, boolean(), "profile again where the achieved quality falls below the profile");
  s.optional("threshold", &P::threshold, number().non_negative().at_most(1), "by more than this");
  s.optional("queries", &P::queries, integer().at_least(1).at_most(1000), "queries that are decoded with every option");
  s.optional("noise", &P::noise, number().non_negative().at_most(1),
             "standard deviation between queries of what a method loses at keep ratio 0.1; a profile of n queries is "
             "off by noise / sqrt(n), for each method, and every further one adds its queries; 0: profiles are right");
  s.optional("output_tokens", &P::output_tokens, tokens().at_least(1), "tokens of each of them");
  s.unread({"threshold", "output_tokens"},
           [](const P& p) { return p.online ? "" : "nothing is profiled again: use online: true"; });
  s.unread({"queries"}, [](const P& p) {
    return p.online || p.noise > 0 ? ""
                                   : "nothing is profiled again, and profiles are right: use online: true, or noise";
  });
  return s;
}

void check_compressor(const PlacementSpec& p, const Reporter& report) {
  if (!p.compressor) {
    if (p.keep_ratio)
      report.fail("keep_ratio", "belongs to a compressor, and none is given: add compressor, or remove it");
    return;
  }
  const CompressorSpec& c = *p.compressor;
  if (c.kind == CompressionKind::both) {
    report.fail("compressor", fmt::format("{} drops tokens and narrows elements: stored objects take one that does one "
                                          "of both, and policy utility combines two",
                                          c.name));
  }
  if (c.kind == CompressionKind::token_dropping) {
    if (!p.keep_ratio) {
      report.fail("", fmt::format("missing key \"keep_ratio\", which compressor {} needs, such as 0.25", c.name));
    }
    return;
  }
  check_quantiser(c, "compressor", report);
  if (p.keep_ratio && std::abs(*p.keep_ratio - c.quantised_ratio()) > 1e-9) {
    report.fail("keep_ratio", fmt::format("{} keeps {:.6g} by its bits and groups: remove this "
                                          "key, or choose another compressor",
                                          c.name, c.quantised_ratio()));
  }
}

/// Returns why this policy does not look at a key of placement; empty where it does.
std::string why_foreign(std::string_view policy, std::string_view key) {
  for (const ForeignKey& foreign : foreign_keys(policy)) {
    if (foreign.key == key) return std::string(foreign.instead);
  }
  return {};
}

/// Representations of one policy beside another are refused: `lru:kvzip:0.3` in a comparison has no other meaning.
void check_representation(const PlacementSpec& p, const Reporter& report) {
  for (const char* key : {"compressor", "keep_ratio"}) {
    const std::string why = why_foreign(p.policy, key);
    if (why.empty() || !report.node().find_path(key)) continue;
    report.fail(key, fmt::format("not with policy {}: {}", p.policy, why));
  }
}

/// Why no worker compresses what is stored; empty where some do.
std::string why_no_work(const PlacementSpec& p) {
  if (p.policy == utility_policy) return {};
  if (p.policy == importance_policy) return p.importance.probed > 0 ? "" : "placement.importance.probed is 0";
  return p.compressor ? "" : "nothing is compressed: use compressor, or policy: utility";
}

/// Why contexts lose no quality; empty where some do.
std::string why_no_loss(const PlacementSpec& p) {
  return p.policy == importance_policy ? std::string() : why_no_work(p);
}

void add_parts(ObjectSchema<PlacementSpec>& s) {
  using P = PlacementSpec;
  s.object("utility", &P::utility, utility_schema(), Presence::optional, "policy utility: what it makes largest");
  s.object("options", &P::options, options_schema(), Presence::optional, "policy utility: how objects may be stored");
  s.object("importance", &P::importance, importance_schema(), Presence::optional,
           "policy importance_chunks: what it stores");
  s.object("quality", &P::quality, quality_schema(), Presence::optional, "what contexts lose by compression");
  s.object("drift", &P::drift, drift_schema(), Presence::optional, "how that changes in time");
  s.object("profiling", &P::profiling, profiling_schema(), Presence::optional, "policy utility: how it learns of that");
}

}  // namespace

void complete_methods(OptionsSpec& options, const std::function<CompressorSpec(const char*)>& find) {
  if (!options.methods.empty()) return;
  for (const char* name : default_option_methods) options.methods.push_back(find(name));
}

void reset_foreign_keys(PlacementSpec& placement) {
  const auto reset = [&placement](std::string_view key, auto& member) {
    if (!why_foreign(placement.policy, key).empty()) member = {};
  };
  reset("utility", placement.utility);
  reset("options", placement.options);
  reset("profiling", placement.profiling);
  reset("importance", placement.importance);
}

std::vector<ForeignKey> foreign_keys(std::string_view policy) {
  std::vector<ForeignKey> keys;
  const bool utility = policy == utility_policy, importance = policy == importance_policy;
  if (utility) {
    keys.push_back(
        {"compressor", "it chooses a compressor for each object: use options.methods or options.quantisers"});
    keys.push_back({"keep_ratio", "it chooses one for each object: use options.keep_ratios"});
  } else {
    keys.push_back({"utility", "only policy utility looks at it: use policy: utility"});
    keys.push_back({"options", "only policy utility chooses among options: use compressor, or policy: utility"});
    keys.push_back({"profiling", "only policy utility looks at profiles: use policy: utility"});
  }
  if (importance || policy == no_store_policy) {
    const char* instead = importance ? "important chunks are stored whole: use importance.share for how much is stored"
                                     : "nothing is stored that could be compressed: remove this key";
    keys.push_back({"compressor", instead});
    keys.push_back({"keep_ratio", instead});
  }
  if (!importance) {
    keys.push_back({"importance", "only policy importance_chunks looks at it: use policy: importance_chunks"});
  }
  return keys;
}

ObjectSchema<PlacementSpec> placement_schema(std::vector<Word> policies) {
  using P = PlacementSpec;
  ObjectSchema<P> s("placement",
                    "What is kept of the prompts' KV in a hierarchy of memories, "
                    "in which representation, and what makes room.");
  s.optional("policy", &P::policy, one_of(std::move(policies)), "what an overflowing tier does");
  s.optional(
      "granularity", &P::granularity,
      choice<Granularity>({{"contexts", Granularity::contexts, "the shared prefix of a prompt, as a whole"},
                           {"blocks", Granularity::blocks, "each block of a chain of hashes"},
                           {"chunks", Granularity::chunks, "each chunk of workload.chunks, wherever it stands"}}),
      "what is stored, found and evicted as one; left out: chunks where prefill puts prompts together from them, "
      "blocks where a trace or workload.chunks has hashes, else contexts");
  s.optional("preload", &P::preload, boolean(),
             "workload.chunks: chunks were computed and stored before, the most popular ones first, as far as there is "
             "room; prefixes of prompts cannot be");
  s.reference("compressor", &P::compressor, "compressor", compressor_schema(), Presence::optional,
              "of every stored object, by the policies that only order them; left out: stored whole");
  s.optional("keep_ratio", &P::keep_ratio, number().above(0).at_most(1),
             "tokens kept / tokens, of a compressor that drops tokens; a quantiser's ratio follows from its bits");
  add_parts(s);
  s.optional("workers", &P::workers, integer().at_least(1).at_most(10000),
             "CPU workers per replica that compress what is stored");
  s.optional("worker_rate", &P::worker_bytes_per_s, bandwidth().at_least(1e3),
             "full KV that one worker compresses per second, where the compressor has no compress_rate");
  s.optional("in_transit", &P::in_transit, number().at_least(0).below(1),
             "share of a tier's capacity kept for objects on their way out of it");
  s.optional("gpu_memory", &P::gpu_memory_bytes, bytes().non_negative(),
             "of a replica's KV memory, kept as the first tier of stored objects");
  for (const char* key : {"utility", "options", "profiling", "importance"}) {
    s.unread({key}, [key](const PlacementSpec& p) { return why_foreign(p.policy, key); });
  }
  s.unread({"workers", "worker_rate"}, why_no_work);
  s.unread({"quality", "drift"}, why_no_loss);
  s.check(check_representation);
  s.check(check_compressor);
  return s;
}

}  // namespace kvsim::models
