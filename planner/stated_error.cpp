#include "planner/stated_error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "models/engines/engine_spec.h"
#include "models/schema/yaml.h"
#include "sim/serving/decode_policy.h"
#include "stated_errors.h"  // generated: stated_errors.yaml

namespace kvsim::planner {
namespace {

constexpr std::size_t kGroupsNeeded = 3;
constexpr std::int64_t kPointsNeeded = 20;
constexpr std::int64_t kOwnPointsNeeded = 10;

std::string_view kind_word(ModelKind kind) {
  constexpr std::array kWords{"dense models", "mixtures of experts", "models with latent attention"};
  return kWords.at(static_cast<std::size_t>(kind));
}

using Groups = std::vector<const ErrorGroup*>;

double weight_of(const ErrorGroup& group) {
  return std::sqrt(static_cast<double>(group.points));
}

/// ln(ratio) at kErrorShares.
using Logs = std::array<double, kErrorShares.size()>;

Logs logs_of(const std::vector<double>& ratios) {
  Logs logs{};
  for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = std::log(ratios[i]);
  return logs;
}

/// Share of a group's points at or below ln(ratio) = x, linear between what is kept.
double share_below(const Logs& logs, double x) {
  if (x < logs.front()) return 0;
  for (std::size_t i = logs.size() - 1; i > 0; --i) {
    const double from = logs[i - 1], to = logs[i];
    if (x < from) continue;
    const double part = to > from ? std::min(1.0, (x - from) / (to - from)) : 1;
    return kErrorShares[i - 1] + part * (kErrorShares[i] - kErrorShares[i - 1]);
  }
  return 0;
}

class Mixture {
 public:
  Mixture(const Groups& groups, ErrorFigure figure) {
    for (const ErrorGroup* g : groups) {
      parts_.push_back({weight_of(*g), logs_of(g->ratios.*figure)});
      all_ += parts_.back().weight;
    }
  }
  /// As ln(ratio).
  [[nodiscard]] double quantile(double share) const {
    double low = 0, high = 0;
    for (const Part& part : parts_) {
      low = std::min(low, part.logs.front());
      high = std::max(high, part.logs.back());
    }
    constexpr int kHalvings = 60;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      double below = 0;
      for (const Part& part : parts_) below += part.weight * share_below(part.logs, middle);
      (below < share * all_ ? low : high) = middle;
    }
    return (low + high) / 2;
  }

 private:
  struct Part {
    double weight;
    Logs logs;
  };
  std::vector<Part> parts_;
  double all_ = 0;
};

ErrorInterval interval_of(const Groups& groups, ErrorFigure figure, double confidence, const FigureErrors& by) {
  const double widening = (by.*figure).front();
  const Mixture mixture(groups, figure);
  const double low = mixture.quantile((1 - confidence) / 2), middle = mixture.quantile(0.5);
  const double high = mixture.quantile((1 + confidence) / 2);
  return {std::exp(middle - widening * (middle - low)), std::exp(middle),
          std::exp(middle + widening * (high - middle))};
}

/// A way of being near, with its words.
struct Nearness {
  std::function<bool(const ErrorGroup&)> holds;
  std::string words;
  std::size_t groups_needed = kGroupsNeeded;
  std::int64_t points_needed = kPointsNeeded;
};

/// The engine of the groups that this one is: itself, or the one whose version it is. Empty, any, where there is none.
std::string measured_engine(const std::vector<ErrorGroup>& groups, const std::string& engine) {
  for (const ErrorGroup& g : groups) {
    if (engine == g.engine || engine.starts_with(g.engine + "-")) return g.engine;
  }
  return {};
}

/// The nearest first; the last holds for all groups.
std::vector<Nearness> nearnesses(const ErrorGroup& q, const std::string& of_engine) {
  const auto engine = [of_engine](const ErrorGroup& g) { return of_engine.empty() || g.engine == of_engine; };
  const auto memory = [&q](const ErrorGroup& g) { return g.memory_full == q.memory_full; };
  const auto kind = [&q](const ErrorGroup& g) { return g.kind == q.kind; };
  const std::string_view full = q.memory_full ? "KV memory full" : "KV memory not full";
  const std::string engines = of_engine.empty() ? "all engines" : of_engine;
  return {{[=, &q](const ErrorGroup& g) { return g.model == q.model && g.gpu == q.gpu && engine(g) && memory(g); },
           fmt::format("{} on {}, {}, {}", q.model, q.gpu, engines, full), 1, kOwnPointsNeeded},
          {[=](const ErrorGroup& g) { return engine(g) && kind(g) && memory(g); },
           fmt::format("{}, {}, {}", engines, kind_word(q.kind), full)},
          {[=](const ErrorGroup& g) { return engine(g) && memory(g); }, fmt::format("{}, {}", engines, full)},
          {memory, fmt::format("all engines, {}", full)},
          {[](const ErrorGroup&) { return true; }, "all points", 0, 0}};
}

/// The first that has enough.
struct Nearest {
  Groups groups;
  std::int64_t points = 0;
  std::string words;
};

Nearest first_of(std::vector<Nearness> ways, const std::vector<ErrorGroup>& groups) {
  Nearest nearest;
  for (Nearness& way : ways) {
    nearest = {{}, 0, std::move(way.words)};
    for (const ErrorGroup& g : groups) {
      if (!way.holds(g)) continue;
      nearest.groups.push_back(&g);
      nearest.points += g.points;
    }
    if (nearest.groups.size() >= way.groups_needed && nearest.points >= way.points_needed) break;
  }
  return nearest;
}

Nearest nearest_to(const StatedErrors& errors, const ErrorGroup& question) {
  return first_of(nearnesses(question, measured_engine(errors.groups, question.engine)), errors.groups);
}

/// Drafted groups that are near a question with a drafter.
Nearest nearest_drafted(const StatedErrors& errors, const ErrorGroup& q) {
  const std::string of_engine = measured_engine(errors.drafted, q.engine);
  const auto engine = [&of_engine](const ErrorGroup& g) { return g.engine == of_engine; };
  return first_of({{[&](const ErrorGroup& g) { return g.model == q.model && g.gpu == q.gpu && engine(g); },
                    fmt::format("{} on {}, {}, with a drafter", q.model, q.gpu, of_engine), 1, kOwnPointsNeeded},
                   {engine, fmt::format("{} with drafters", of_engine), 2, 0},
                   {[](const ErrorGroup&) { return true; }, "all points with drafters", 0, 0}},
                  errors.drafted);
}

ErrorInterval of_others(const StatedErrors& errors, const ErrorGroup& group, ErrorFigure figure, double confidence) {
  const StatedErrors others = errors.without(group);
  return interval_of(nearest_to(others, group).groups, figure, confidence, errors.widening);
}

schema::ObjectSchema<FigureErrors> ratios_schema(const char* name, std::size_t count) {
  using namespace schema;
  ObjectSchema<FigureErrors> s(name, "Measured / predicted, at fixed shares of the points.");
  const ListSize size{count, count};
  s.list("tpot", &FigureErrors::tpot, number().above(0), Presence::required, "time per output token", size);
  s.list("ttft", &FigureErrors::ttft, number().above(0), Presence::required, "time to first token", size);
  s.list("e2e", &FigureErrors::e2e, number().above(0), Presence::required, "time of a request", size);
  s.check([](const FigureErrors& r, const Reporter& report) {
    for (const ErrorFigure figure : kErrorFigures) {
      if (!std::is_sorted((r.*figure).begin(), (r.*figure).end())) report.fail("", "ratios must not fall");
    }
  });
  return s;
}

schema::ObjectSchema<StatedErrors> make_schema() {
  using namespace schema;
  const auto machine_schema = [](const char* name, const char* description) {
    ObjectSchema<ErrorGroup> s(name, description);
    s.required("model", &ErrorGroup::model, text().non_empty(), "in the catalogue");
    s.required("gpu", &ErrorGroup::gpu, text().non_empty(), "in the catalogue");
    s.required("engine", &ErrorGroup::engine, text().non_empty(), "which served");
    return s;
  };
  ObjectSchema<ErrorGroup> group = machine_schema("group", "Points of one model, GPU and engine.");
  group.required(
      "kind", &ErrorGroup::kind,
      choice<ModelKind>({{"dense", ModelKind::dense, "every token passes all weights"},
                         {"experts", ModelKind::experts, "routed experts"},
                         {"latent", ModelKind::latent, "multi-head latent attention, with experts or without"}}),
      "of the model");
  group.required("memory_full", &ErrorGroup::memory_full, boolean(), "requests waited for GPU memory");
  group.required("points", &ErrorGroup::points, integer().at_least(1), "how many");
  group.object("ratios", &ErrorGroup::ratios, ratios_schema("ratios", kErrorShares.size()), Presence::required,
               "measured / predicted");
  const ListSize shares{kErrorShares.size(), kErrorShares.size()};
  ObjectSchema<ErrorGroup> drafted = machine_schema("drafted", "Points of one model, GPU and engine with a drafter.");
  drafted.required("points", &ErrorGroup::points, integer().at_least(1), "how many");
  drafted.list(
      "tpot", [](auto& g) -> auto& { return g.ratios.tpot; }, number().above(0), Presence::required,
      "measured / predicted", shares);
  ObjectSchema<StatedErrors> s("stated_errors", "What backtests missed by.");
  s.required("source", &StatedErrors::source, text().non_empty(), "whose points");
  s.object("widening", &StatedErrors::widening, ratios_schema("widening", 1), Presence::required, "of intervals");
  s.list("groups", &StatedErrors::groups, group, Presence::required, "by model, GPU and engine");
  s.list("drafted", &StatedErrors::drafted, drafted, Presence::optional, "the same with a drafter, of TPOT alone");
  s.object("pairs", &StatedErrors::pairs, ratios_schema("pairs", kPairShares.size()), Presence::required,
           "of two points of one machine");
  return s;
}

}  // namespace

ModelKind model_kind(const models::LlmSpec& model) {
  if (model.attention == models::AttentionKind::mla) return ModelKind::latent;
  return model.moe.experts > 0 ? ModelKind::experts : ModelKind::dense;
}

const schema::ObjectSchema<StatedErrors>& stated_errors_schema() {
  static const schema::ObjectSchema<StatedErrors> s = make_schema();
  return s;
}

const StatedErrors& StatedErrors::built_in() {
  static const StatedErrors all = [] {
    const auto& [path, text] = embedded::stated_errors().front();
    return stated_errors_schema().parse(schema::read_yaml(text, std::string(path)));
  }();
  return all;
}

StatedErrors StatedErrors::without(const ErrorGroup& machine) const {
  StatedErrors rest = *this;
  std::erase_if(rest.groups, [&](const ErrorGroup& g) { return g.same_machine(machine); });
  return rest;
}

ErrorGroup error_question(const scenario::Scenario& scenario, double memory_short_share) {
  const serving::ServingConfig& c = scenario.serving;
  ErrorGroup q;
  q.model = c.model.name;
  for (const serving::GroupConfig* group : serving::kinds(c.cluster)) {
    q.gpu += (q.gpu.empty() ? "" : " and ") + group->gpu.name;
  }
  if (c.schedule.engine) q.engine = c.schedule.engine->name;
  q.kind = model_kind(c.model);
  q.memory_full = memory_short_share > kMemoryFull;
  q.drafted = serving::configured_policy(c).drafts_in_steps();
  return q;
}

StatedError stated_error(const StatedErrors& errors, const ErrorGroup& question, double confidence) {
  const bool drafted = question.drafted && !errors.drafted.empty();
  const Nearest plain = nearest_to(errors, question);
  const Nearest nearest = drafted ? nearest_drafted(errors, question) : plain;
  const auto interval = [&](const Nearest& of, ErrorFigure figure) {
    return interval_of(of.groups, figure, confidence, errors.widening);
  };
  const ErrorInterval tpot = interval(nearest, &FigureErrors::tpot);
  return {nearest.words,
          std::ssize(nearest.groups),
          nearest.points,
          confidence,
          tpot,
          interval(plain, &FigureErrors::ttft),
          drafted ? tpot : interval(plain, &FigureErrors::e2e)};
}

FigureErrors widening_for(StatedErrors errors, double confidence) {
  errors.widening = {{1}, {1}, {1}};
  for (const ErrorFigure figure : kErrorFigures) {
    double& by = (errors.widening.*figure).front();
    int low = 100, high = 300;  // hundredths; wider intervals hold no less
    while (low < high) {
      const int middle = (low + high) / 2;
      by = middle / 100.0;
      if (coverage(errors, figure, confidence) < confidence) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    by = low / 100.0;
  }
  return errors.widening;
}

double even_below(const StatedErrors& errors, ErrorFigure figure, double confidence) {
  const std::vector<double>& pairs = errors.pairs.*figure;
  if (confidence <= kPairShares.front()) return pairs.front();
  for (std::size_t i = 1; i < kPairShares.size(); ++i) {
    if (confidence > kPairShares[i]) continue;
    const double part = (confidence - kPairShares[i - 1]) / (kPairShares[i] - kPairShares[i - 1]);
    return pairs[i - 1] + part * (pairs[i] - pairs[i - 1]);
  }
  return pairs.back();
}

double coverage(const StatedErrors& errors, ErrorFigure figure, double confidence) {
  double inside = 0, all = 0;
  for (const ErrorGroup& g : errors.groups) {
    const ErrorInterval i = of_others(errors, g, figure, confidence);
    const Logs logs = logs_of(g.ratios.*figure);
    const double share = share_below(logs, std::log(i.high)) - share_below(logs, std::log(i.low));
    inside += share * static_cast<double>(g.points);
    all += static_cast<double>(g.points);
  }
  return inside / all;
}

}  // namespace kvsim::planner
