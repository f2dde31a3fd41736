#include "planner/backtest/published.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/object_schema.h"
#include "models/schema/text_number.h"
#include "models/schema/yaml.h"
#include "published_names.h"  // generated: published.yaml

namespace kvsim::planner::backtest {
namespace {

using models::EntryKind;

// Terms of an iteration's tokens, beside numbers.
constexpr std::string_view kPromptTerm = "isl", kClientsTerm = "clients";

std::optional<std::int64_t> whole_number(const std::string& text) {
  const auto number = schema::number_from<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

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
  source.required("shortest", &PointSource::shortest, number().above(0).at_most(1), "share of the longest length");
  source.required("requests_per_client", &PointSource::requests_per_client, integer().at_least(1), "one after another");
  source.required("reference", &PointSource::reference, text().non_empty(), "where that is said");
  ObjectSchema<PointLaunch> launch("launch", "How an engine was launched; conditions that are not given hold of all.");
  launch.required("source", &PointLaunch::source, text().non_empty(), "of the points");
  launch.list("engines", &PointLaunch::engines, text().non_empty(), Presence::optional, "of the points");
  launch.list("versions", &PointLaunch::versions, text().non_empty(), Presence::optional, "of the engine");
  launch.list("models", &PointLaunch::models, text().non_empty(), Presence::optional, "in the catalogue");
  launch.list("gpus", &PointLaunch::gpus, text().non_empty(), Presence::optional, "in the catalogue");
  launch.list("weights", &PointLaunch::weights, text().non_empty(), Presence::optional, "their number formats");
  launch.list("tensor", &PointLaunch::tensor, integer().at_least(1), Presence::optional, "tensor-parallel GPUs");
  launch.list("lengths", &PointLaunch::lengths, text().non_empty(), Presence::optional, "isl/osl");
  launch.optional("ranks", &PointLaunch::ranks, boolean(), "attention is data-parallel, or is not");
  launch.optional("least_clients", &PointLaunch::least_clients, integer().at_least(1), "concurrency");
  launch.optional("most_clients", &PointLaunch::most_clients, integer().at_least(1), "concurrency");
  launch.list("set", &PointLaunch::set, text().non_empty(), Presence::optional, "changes of the scenario, as of --set");
  launch.list("iteration", &PointLaunch::iteration, text().non_empty(), Presence::optional,
              "tokens of an iteration: the sum of numbers, isl and clients");
  launch.optional("out_of_scope", &PointLaunch::out_of_scope, text().non_empty(), "why it cannot be described");
  launch.required("reference", &PointLaunch::reference, text().non_empty(), "where that is said");
  launch.check([](const PointLaunch& l, const Reporter& report) {
    for (const std::string& term : l.iteration) {
      if (term == kPromptTerm || term == kClientsTerm || whole_number(term)) continue;
      report.fail("iteration", fmt::format("\"{}\" is no number of tokens, expected a whole number, {} or {}", term,
                                           kPromptTerm, kClientsTerm));
    }
  });
  ObjectSchema<Published> all("published", "What published serving points call things.");
  all.list("models", &Published::models, model, Presence::required, "checkpoints");
  all.list("gpus", &Published::gpus, gpu, Presence::required, "GPUs");
  all.list("sources", &Published::sources, source, Presence::required, "sources");
  all.list("launches", &Published::launches, launch, Presence::required, "launches of engines");
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
    return from_text(text, std::string(path));
  }();
  return all;
}

Published Published::from_text(std::string_view text, const std::string& name) {
  return published_schema().parse(schema::read_yaml(text, name));
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

std::vector<std::string> PointLaunch::changes(std::int64_t prompt_tokens, std::int64_t clients) const {
  std::vector<std::string> result = set;
  if (iteration.empty()) return result;
  std::int64_t tokens = 0;
  for (const std::string& term : iteration) {
    tokens += term == kPromptTerm ? prompt_tokens : term == kClientsTerm ? clients : whole_number(term).value();
  }
  result.push_back(fmt::format("schedule.max_batched_tokens={}", tokens));
  return result;
}

bool PointLaunch::holds_of(const LaunchOf& p) const {
  const auto among = [](const auto& values, const auto& value) {
    return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
  };
  return source == p.source && among(engines, p.engine) && among(versions, p.version) && among(models, p.model) &&
         among(gpus, p.gpu) && among(weights, p.weights) && among(tensor, p.tensor) &&
         among(lengths, fmt::format("{}/{}", p.prompt_tokens, p.output_tokens)) && ranks.value_or(p.ranks) == p.ranks &&
         p.clients >= least_clients && p.clients <= most_clients.value_or(p.clients);
}

}  // namespace kvsim::planner::backtest
