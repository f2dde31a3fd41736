#include "planner/backtest/published.h"

#include <algorithm>

#include "models/kernels/fitted_schema.h"
#include "models/schema/object_schema.h"
#include "models/schema/yaml.h"
#include "published_names.h"  // generated: published.yaml

namespace kvsim::planner::backtest {
namespace {

using models::EntryKind;

schema::ObjectSchema<Published> published_schema() {
  using namespace schema;
  ObjectSchema<PublishedModel> model("model", "A checkpoint.");
  model.required("name", &PublishedModel::name, text().non_empty(), "as it is published");
  model.required("model", &PublishedModel::model, text().non_empty(), "in the catalogue");
  model.optional("weights", &PublishedModel::weights, models::weight_number_format(), "its number format");
  ObjectSchema<PublishedGpu> gpu("gpu", "A GPU.");
  gpu.required("name", &PublishedGpu::name, text().non_empty(), "as points call it");
  gpu.required("gpu", &PublishedGpu::gpu, text().non_empty(), "in the catalogue");
  ObjectSchema<PointSource> source("source", "How requests were drawn.");
  source.required("name", &PointSource::name, text().non_empty(), "as points call it");
  source.optional("multiplied_parts", &PointSource::multiplied_parts, boolean(),
                  "rows with experts in parts have the numbers of GPUs multiplied with each other");
  source.optional("prefix_cache", &PointSource::prefix_cache, boolean(), "not turned off in engines that have one");
  source.required("shortest", &PointSource::shortest, number().above(0).at_most(1), "share of the longest length");
  source.required("requests_per_client", &PointSource::requests_per_client, integer().at_least(1), "one after another");
  source.required("reference", &PointSource::reference, text().non_empty(), "where that is said");
  ObjectSchema<Fp8Kv> kv("fp8_kv", "Points whose KV was kept in fp8.");
  kv.required("source", &Fp8Kv::source, text().non_empty(), "of the points");
  kv.required("model", &Fp8Kv::model, text().non_empty(), "in the catalogue");
  kv.list("weights", &Fp8Kv::weights, text().non_empty(), Presence::required, "number formats of the weights");
  kv.required("reference", &Fp8Kv::reference, text().non_empty(), "where that is said");
  ObjectSchema<PointBudget> budget("budget", "Points whose engine had other iterations.");
  budget.required("source", &PointBudget::source, text().non_empty(), "of the points");
  budget.required("engine", &PointBudget::engine, text().non_empty(), "of the points");
  budget.required("max_batched_tokens", &PointBudget::max_batched_tokens, integer().at_least(1), "of an iteration");
  budget.required("reference", &PointBudget::reference, text().non_empty(), "where that is said");
  ObjectSchema<Published> all("published", "What published serving points call things.");
  all.list("models", &Published::models, model, Presence::required, "checkpoints");
  all.list("gpus", &Published::gpus, gpu, Presence::required, "GPUs");
  all.list("sources", &Published::sources, source, Presence::required, "sources");
  all.list("fp8_kv", &Published::fp8_kv, kv, Presence::required, "KV in fp8");
  all.list("budgets", &Published::budgets, budget, Presence::required, "tokens of an iteration");
  return all;
}

template <class Item>
const Item* named(const std::vector<Item>& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(), [name](const Item& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

const Published& Published::built_in() {
  static const Published all = [] {
    const auto& [path, text] = embedded::published_names().front();
    return published_schema().parse(schema::read_yaml(text, std::string(path)));
  }();
  return all;
}

std::optional<PublishedModel> Published::model(std::string_view name, const models::Catalogue& catalogue) const {
  if (const PublishedModel* known = named(models, name)) return *known;
  const std::string last = lower(name.substr(name.rfind('/') + 1));
  for (const std::string& entry : {std::string(name), last}) {
    if (!catalogue.contains(EntryKind::model, entry)) continue;
    return PublishedModel{std::string(name), entry, catalogue.model(entry).weight_format()};
  }
  return std::nullopt;
}

std::string Published::gpu(std::string_view name, const models::Catalogue& catalogue) const {
  if (const PublishedGpu* known = named(gpus, name)) return known->gpu;
  return catalogue.contains(EntryKind::gpu, name) ? std::string(name) : std::string();
}

const PointSource& Published::source(std::string_view name) const {
  const PointSource* known = named(sources, name);
  return known != nullptr ? *known : sources.back();
}

bool Published::kv_in_fp8(std::string_view source, std::string_view model, models::NumberFormat weights) const {
  return std::any_of(fp8_kv.begin(), fp8_kv.end(), [&](const Fp8Kv& kv) {
    return kv.source == source && kv.model == model &&
           std::find(kv.weights.begin(), kv.weights.end(), word(weights)) != kv.weights.end();
  });
}

const PointBudget* Published::budget(std::string_view source, std::string_view engine) const {
  const auto found = std::find_if(budgets.begin(), budgets.end(), [&](const PointBudget& budget) {
    return budget.source == source && budget.engine == engine;
  });
  return found == budgets.end() ? nullptr : &*found;
}

}  // namespace kvsim::planner::backtest
