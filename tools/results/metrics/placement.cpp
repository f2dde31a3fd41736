// Prompts that are stored in tiers and found again.
#include "sim/cache/prompt_cache.h"
#include "tools/results/metrics/metric.h"

namespace kvsim::results {
namespace {

using serving::PlacementMeasurement;
using serving::TierContents;

const Condition kVerifiesStored{"where drafts on stored prompts are verified", [](const scenario::Scenario& s) {
                                  return s.serving.placement && cache::verifies_stored(s.serving);
                                }};

std::vector<std::string> stored_tiers(const scenario::Scenario& scenario) {
  std::vector<std::string> names;
  for (const cache::StoreTier& tier : cache::store_config(scenario.serving).tiers) names.push_back(tier.name);
  return names;
}

const Names kStoreTiers{"tier", [](const Outcome& o) { return stored_tiers(o.scenario); }, stored_tiers};

const Condition kDatasets{"where contexts come from data sets", [](const scenario::Scenario& s) {
                            return s.serving.placement && !s.serving.context_datasets.empty();
                          }};

std::vector<std::string> datasets(const scenario::Scenario& scenario) {
  return scenario.serving.context_datasets;
}

const Names kDatasetNames{"data set", [](const Outcome& o) { return datasets(o.scenario); }, datasets};

/// Mean over the requests of contexts from the data set.
auto of_dataset(double serving::DatasetMeasurement::*sum) {
  return [sum](const View& v) {
    const auto& all = v.measured().placement.datasets;
    const auto found = all.find(v.name);
    if (found == all.end()) return missing(kNothingFinished);
    return ratio(found->second.*sum, static_cast<double>(found->second.requests), kNothingFinished);
  };
}

template <class T>
auto placed(T PlacementMeasurement::*member) {
  return [member](const View& v) { return count(v.measured().placement.*member); };
}

auto stored_quality(double q) {
  return [q](const View& v) { return number(v.measured().placement.quality.quantile(q), kNothingFinished); };
}

TierContents contents(const View& v) {
  const auto& all = v.measured().placement.contents;
  const auto found = all.find(v.name);
  return found == all.end() ? TierContents{} : found->second;
}

template <class T>
auto contained(T TierContents::*member) {
  return [member](const View& v) { return count(contents(v).*member); };
}

Figure granularity(const View& v) {
  const auto& granularity = v.config().placement->granularity;
  if (granularity == models::Granularity::chunks) return {"chunks"};
  return {granularity == models::Granularity::blocks ? "blocks" : "contexts"};
}

Figure options(const View& v) {
  Json objects = Json::object();
  for (const auto& [name, stored] : contents(v).options) objects[name] = stored;
  return {std::move(objects)};
}

}  // namespace

Metrics placement_metrics() {
  using P = PlacementMeasurement;
  Metrics rows =
      when(kPlaces,
           {{"placement.policy", kText, kNeither, "name of the placement policy",
             [](const View& v) { return Figure{v.config().placement->policy}; }},
            {"placement.granularity", kText, kNeither, "what an object is: a context, a block or a chunk", granularity},
            {"placement.loaded_tokens", kTokens, kHigher,
             "of prompts that continued from what was stored, each prompt once", placed(&P::loaded_tokens)},
            {"placement.computed_tokens", kTokens, kLower, "tokens of prompts that were computed",
             placed(&P::computed_tokens)},
            {"placement.loads", kCount, kNeither, "objects that crossed links for a request", placed(&P::loads)},
            {"placement.joined_loads", kCount, kNeither,
             "objects that were on their way to the replica for another request already", placed(&P::joined_loads)},
            {"placement.stores", kCount, kNeither, "objects that were stored", placed(&P::stores)},
            {"placement.unstored", kCount, kLower,
             "objects that were not, because they fit into no tier or were not worth it", placed(&P::unstored)},
            {"placement.promotions", kCount, kNeither, "objects that moved up a tier after they were loaded",
             placed(&P::promotions)},
            {"placement.demotions", kCount, kNeither, "objects that moved down a tier, for lack of room",
             placed(&P::demotions)},
            {"placement.recompressions", kCount, kNeither, "objects made smaller after they were stored",
             placed(&P::recompressions)},
            {"placement.drops", kCount, kLower, "objects that were given up", placed(&P::drops)},
            {"placement.moved_bytes", kBytes, kLower, "written to a tier for a store or a demotion",
             placed(&P::moved_bytes)}});
  append(rows, when(kVerifiesStored,
                    {{"placement.whole_loads", kCount, kLower,
                      "objects of which a verification read what their compressed copy lacks", placed(&P::whole_loads)},
                     {"placement.whole_load_bytes", kBytes, kLower,
                      "bytes of copies kept whole that were loaded to verify against", placed(&P::whole_bytes)}}));
  append(rows,
         when(kPlaces,
              {{"placement.profiled", kCount, kNeither, "contexts that were profiled again", placed(&P::profiled)},
               {"placement.profiled_tokens", kTokens, kLower, "decoded for that, beside the requests' own",
                placed(&P::profiled_tokens)},
               {"placement.quality.mean", kPlain, kHigher,
                "of a finished request: the score of what it loaded, relative to the whole KV, 1 where "
                "nothing was loaded",
                [](const View& v) { return number(v.measured().placement.quality.mean(), kNothingFinished); }},
               {"placement.quality.p10", kPlain, kHigher, "a tenth of the requests got less", stored_quality(0.10)},
               {"placement.quality.p1", kPlain, kHigher, "a hundredth of the requests got less", stored_quality(0.01)},
               {"placement.quality.min", kPlain, kHigher, "the least that a request got", stored_quality(0)}}));
  append(rows, when(kDatasets,
                    for_each(kDatasetNames,
                             {{"placement.datasets.*.ttft_s", kSeconds, kLower,
                               "mean time to first token of the finished requests of contexts from the data set",
                               of_dataset(&serving::DatasetMeasurement::ttft_s)},
                              {"placement.datasets.*.quality", kPlain, kHigher, "mean of placement.quality of the same",
                               of_dataset(&serving::DatasetMeasurement::quality)}})));
  append(rows,
         when(kPlaces,
              for_each(kStoreTiers,
                       {{"placement.contents.*.objects", kCount, kNeither,
                         "objects in the tier at the end of the run, of all replicas and replications together",
                         contained(&TierContents::objects)},
                        {"placement.contents.*.bytes", kBytes, kNeither, "bytes of these objects, as stored",
                         contained(&TierContents::bytes)},
                        {"placement.contents.*.full_bytes", kBytes, kNeither,
                         "bytes that it would have whole, with the full KV", contained(&TierContents::full_bytes)},
                        {"placement.contents.*.mean_keep_ratio", kPlain, kNeither,
                         "stored bytes / full bytes of all that is in the tier", [](const View& v) {
                           const TierContents c = contents(v);
                           return ratio(static_cast<double>(c.bytes), static_cast<double>(c.full_bytes),
                                        "nothing is stored there at the end of the run");
                         }}})));
  append(rows,
         when(kVerifiesStored, for_each(kStoreTiers, {{"placement.contents.*.whole_bytes", kBytes, kLower,
                                                       "bytes of copies kept whole beside them, to verify against",
                                                       contained(&TierContents::whole_bytes)}})));
  append(rows,
         when(kPlaces,
              for_each(kStoreTiers, several(".*", {{"placement.contents.*.options", kCount, kNeither,
                                                    "objects of that representation in the tier at the end of the run",
                                                    options}}))));
  return rows;
}

}  // namespace kvsim::results
