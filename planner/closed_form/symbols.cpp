#include "planner/closed_form/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/schema/error.h"
#include "models/schema/object_schema.h"
#include "models/schema/units.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "planner/infeasible.h"

namespace kvsim::planner {
namespace {

using models::AcceptanceModel;

/// A(n) for n that need not be whole: linear between whole numbers.
double accepted_of(const AcceptanceModel& model, double n) {
  const auto below = static_cast<std::int64_t>(std::floor(n));
  const double at = model.expected_accepted(below);
  const double share = n - static_cast<double>(below);
  return share > 0 ? at + share * (model.expected_accepted(below + 1) - at) : at;
}

AcceptanceModel acceptance_at(const SymbolsProblem& p, double c, std::int64_t most_tokens) {
  double agreement = 1;
  if (!p.agreement.empty()) {
    models::CompressorSpec given;
    given.agreement = p.agreement;
    agreement = given.agreement_at(c);
  }
  return {p.acceptance, agreement, most_tokens};
}

/// One cycle; all byte counts of one replica.
Cycle cycle_at(const SymbolsProblem& p, const AcceptanceModel& outer, const AcceptanceModel* inner, std::int64_t x,
               double c, std::int64_t d_e) {
  const Symbols& s = p.symbols;
  const auto M = static_cast<double>(s.M), KV = static_cast<double>(s.KV), HBM = static_cast<double>(s.HBM);
  const auto iterations = static_cast<double>(x + 1);
  const bool composed = p.drafter && d_e > 1;
  const double M_d = composed ? static_cast<double>(p.drafter->weights) : 0.0;
  const double KV_d = composed ? static_cast<double>(p.drafter->KV) : 0.0;
  const auto passes = static_cast<double>(d_e - 1);  // of the drafter, per drafting iteration
  const Composition composition = composed ? p.drafter->composition : Composition::published;

  Cycle cycle;
  cycle.x = x;
  cycle.c = c;
  cycle.d_e = d_e;
  cycle.tokens = (composed_acceptance(composition, outer, inner, x, d_e) + 1) / iterations;
  const double KV_avg = KV * (static_cast<double>(x) * c + 1) / iterations;
  // T_gpu = (M + B KV_avg) / BW_hbm, and the drafter's passes for the x of x + 1 requests that draft.
  cycle.gpu = GpuTime::linear((M + passes * M_d) / s.BW_hbm,
                              (KV_avg + passes * KV_d * static_cast<double>(x) / iterations) / s.BW_hbm);
  const bool whole = p.reload == models::ReloadContent::whole;
  cycle.streaming_bytes = whole ? KV : (1 - c) * KV;
  cycle.reload_s = cycle.streaming_bytes / s.BW_link;
  cycle.room_bytes = HBM - M - M_d;
  cycle.resident_bytes = KV + KV_d;
  cycle.average_bytes = KV_avg + KV_d;
  cycle.compressed_bytes = c * KV + KV_d;
  return cycle;
}

[[noreturn]] void nothing_fits(const SymbolsProblem& p, const std::vector<Cycle>& cycles) {
  double missing = static_cast<double>(p.symbols.KV) - static_cast<double>(p.symbols.HBM - p.symbols.M);
  double c = 1;
  for (const Cycle& cycle : cycles) {
    const double of_this = least_kv_bytes(p.model, cycle) - cycle.room_bytes;
    if (of_this < missing) {
      missing = of_this;
      c = cycle.c;
    }
  }
  const auto quantity = [](double bytes) { return schema::round_quantity(schema::Dimension::bytes, bytes); };
  // in MB, rounded up, so that what is named is enough
  throw Infeasible(fmt::format(
      "no plan under model {}: not even one request fits. M = {} leaves {} of HBM = {} for KV; the nearest miss, one "
      "request at keep ratio {:g}, needs {:.0f} MB more HBM",
      name_of(p.model), quantity(static_cast<double>(p.symbols.M)),
      quantity(std::max(0.0, static_cast<double>(p.symbols.HBM - p.symbols.M))),
      quantity(static_cast<double>(p.symbols.HBM)), c, std::max(1.0, std::ceil(missing / kMB))));
}

}  // namespace

double composed_acceptance(Composition composition, const AcceptanceModel& outer, const AcceptanceModel* drafter,
                           std::int64_t x, std::int64_t d_e) {
  if (!drafter || d_e <= 1) return outer.expected_accepted(x);
  // 1 + gamma_e(d_e) (d_e - 1), with gamma_e(d_e) (d_e - 1) = A_e(d_e - 1)
  const double factor = 1 + drafter->expected_accepted(d_e - 1);
  return composition == Composition::published ? outer.expected_accepted(x) * factor
                                               : accepted_of(outer, static_cast<double>(x) * factor);
}

Cycle full_kv_cycle(const Symbols& s) {
  Cycle cycle;
  cycle.gpu = GpuTime::linear(static_cast<double>(s.M) / s.BW_hbm, static_cast<double>(s.KV) / s.BW_hbm);
  cycle.room_bytes = static_cast<double>(s.HBM - s.M);
  cycle.resident_bytes = cycle.average_bytes = cycle.compressed_bytes = static_cast<double>(s.KV);
  return cycle;
}

std::vector<Cycle> cycles_of(const SymbolsProblem& p) {
  const std::int64_t least_d = p.drafter ? p.drafter->least : 1, most_d = p.drafter ? p.drafter->most : 1;
  std::optional<AcceptanceModel> inner;
  if (p.drafter) inner.emplace(p.drafter->acceptance, 1.0, most_d);
  std::vector<Cycle> cycles;
  for (const double c : p.keep_ratios) {
    const AcceptanceModel outer = acceptance_at(p, c, p.most_draft_length * most_d + 1);
    for (std::int64_t x = p.least_draft_length; x <= p.most_draft_length; ++x) {
      for (std::int64_t d_e = least_d; d_e <= most_d; ++d_e) {
        cycles.push_back(cycle_at(p, outer, inner ? &*inner : nullptr, x, c, d_e));
      }
    }
  }
  return cycles;
}

SymbolsPlan plan(const SymbolsProblem& p) {
  std::vector<Cycle> cycles = cycles_of(p);
  const std::vector<Cycle> baseline{full_kv_cycle(p.symbols)};
  cycles.push_back(baseline.front());
  const BatchLimits none;
  const SearchResult found = search(p.model, cycles, none);
  if (!found.optimum) nothing_fits(p, cycles);
  const SearchResult full = search(p.model, baseline, none);
  return {*found.optimum, full.optimum, found.evaluated + full.evaluated};
}

// The file of `kvsim plan --symbols`, as a field table.

namespace {

using models::AcceptanceKind;
using models::KeepRatioPoint;
using models::ReloadContent;
using schema::bandwidth;
using schema::bytes;
using schema::choice;
using schema::ConfigNode;
using schema::integer;
using schema::number;
using schema::ObjectSchema;
using schema::Presence;
using schema::Reporter;

constexpr std::int64_t kMostDraftLength = 4096;
constexpr std::int64_t kMostDepth = 64;
constexpr double kMostRequests = 1e6;  // the search goes through batches one by one
constexpr double kLargest = 1e18;      // bytes: sums of a few stay exact enough in doubles

const char* const kByRatio = "agreement_by_keep_ratio";

std::vector<KeepRatioPoint> ascending(std::vector<KeepRatioPoint> points) {
  std::sort(points.begin(), points.end(),
            [](const KeepRatioPoint& a, const KeepRatioPoint& b) { return a.keep_ratio < b.keep_ratio; });
  return points;
}

ObjectSchema<Symbols> symbols_schema() {
  ObjectSchema<Symbols> s("symbols", "One replica and its requests.");
  s.required("M", &Symbols::M, bytes().positive().at_most(kLargest), "model weights");
  s.required("KV", &Symbols::KV, bytes().positive().at_most(kLargest), "full KV of one request");
  s.required("HBM", &Symbols::HBM, bytes().positive().at_most(kLargest), "GPU memory for weights and KV");
  s.required("BW_hbm", &Symbols::BW_hbm, bandwidth().positive(), "GPU memory bandwidth");
  s.required("BW_link", &Symbols::BW_link, bandwidth().positive(), "bandwidth from host memory to the GPU");
  return s;
}

ObjectSchema<SymbolsProblem> draft_length_schema() {
  ObjectSchema<SymbolsProblem> s("draft_length", "Draft lengths x to search.");
  s.optional("min", &SymbolsProblem::least_draft_length, integer().at_least(1).at_most(kMostDraftLength), "smallest");
  s.optional("max", &SymbolsProblem::most_draft_length, integer().at_least(1).at_most(kMostDraftLength), "largest");
  s.check([](const SymbolsProblem& p, const Reporter& report) {
    if (p.least_draft_length > p.most_draft_length) report.fail("min", "must not exceed max");
  });
  return s;
}

ObjectSchema<Drafter> drafter_schema() {
  ObjectSchema<Drafter> depth("depth", "Tokens d_e per draft position, 1 of them from the compressed KV.");
  depth.optional("min", &Drafter::least, integer().at_least(1).at_most(kMostDepth), "smallest; 1: no drafter");
  depth.required("max", &Drafter::most, integer().at_least(1).at_most(kMostDepth), "largest");
  depth.check([](const Drafter& d, const Reporter& report) {
    if (d.least > d.most) report.fail("min", "must not exceed max");
  });
  ObjectSchema<Drafter> s("drafter", "An auxiliary drafter that proposes d_e - 1 tokens per draft position.");
  s.required("weights", &Drafter::weights, bytes().non_negative().at_most(kLargest), "its weights");
  s.optional("KV", &Drafter::KV, bytes().non_negative().at_most(kLargest), "its own KV of one request");
  s.object(
      "depth", [](auto& x) -> auto& { return x; }, depth, Presence::required, "tokens per draft position");
  s.object("acceptance", &Drafter::acceptance, models::acceptance_schema(), Presence::required,
           "how many of its tokens the compressed-KV drafter accepts");
  s.optional("composition", &Drafter::composition,
             choice<Composition>(
                 {{"published", Composition::published, "gamma(x, c) x [1 + gamma_e(d_e) (d_e - 1)], as printed"},
                  {"per_token", Composition::per_token, "A(x [1 + gamma_e(d_e) (d_e - 1)], c): agreement per token"}}),
             "how the two acceptances combine");
  s.check([](const Drafter& d, const Reporter& report) {
    if (d.acceptance.kind == AcceptanceKind::compressor) {
      report.fail("acceptance.model", "a drafter has no compressor: expected constant, curve or another model");
    }
  });
  return s;
}

std::vector<schema::Word> model_words() {
  std::vector<schema::Word> words;
  for (const TransferModelName& entry : kTransferModels) {
    words.push_back({std::string(entry.name), std::string(entry.description), static_cast<std::int64_t>(entry.model)});
  }
  return words;
}

ObjectSchema<SymbolsProblem> problem_schema() {
  ObjectSchema<KeepRatioPoint> point("point", "Agreement at one keep ratio.");
  point.required("keep_ratio", &KeepRatioPoint::keep_ratio, number().above(0).at_most(1), "c");
  point.required("agreement", &KeepRatioPoint::value, number().above(0).at_most(1), "per-token agreement a(c)");

  ObjectSchema<SymbolsProblem> s("plan", "The long-context plan from raw symbols.");
  s.object("symbols", &SymbolsProblem::symbols, symbols_schema(), Presence::required, "one replica and its requests");
  s.optional("model", &SymbolsProblem::model, schema::ScalarSpec::choice(model_words()),
             "how reloads use link and HBM");
  s.object(
      "draft_length", [](auto& x) -> auto& { return x; }, draft_length_schema(), Presence::optional,
      "draft lengths x to search");
  s.list("keep_ratio", &SymbolsProblem::keep_ratios, number().above(0).at_most(1), Presence::required,
         "keep ratios c to search", {1, 100000});
  s.object("acceptance", &SymbolsProblem::acceptance, models::acceptance_schema(), Presence::required,
           "how many drafted tokens a verification accepts; `agreement` may be a map from keep ratio to agreement");
  s.list(kByRatio, &SymbolsProblem::agreement, point, Presence::optional, "agreement by keep ratio");
  s.optional("reload", &SymbolsProblem::reload,
             choice<ReloadContent>({{"missing", ReloadContent::missing, "what was dropped: (1 - c) KV"},
                                    {"whole", ReloadContent::whole, "all of KV, as for quantised KV"}}),
             "what a verification brings to the GPU");
  s.object("drafter", &SymbolsProblem::drafter, drafter_schema(), Presence::optional, "auxiliary drafter");
  s.check([](const SymbolsProblem& p, const Reporter& report) {
    const double least = *std::min_element(p.keep_ratios.begin(), p.keep_ratios.end());
    if (static_cast<double>(p.symbols.HBM) > kMostRequests * least * static_cast<double>(p.symbols.KV)) {
      report.fail("symbols.KV", "more than a million requests would fit: expected the KV of a long context");
    }
    if (p.acceptance.kind == AcceptanceKind::compressor && p.agreement.empty()) {
      report.fail("acceptance.model",
                  "raw symbols have no compressor: expected constant with an agreement, or another model");
    }
    if (p.agreement.empty()) return;
    const std::vector<KeepRatioPoint> given = ascending(p.agreement);
    for (std::size_t i = 1; i < given.size(); ++i) {
      if (given[i].keep_ratio == given[i - 1].keep_ratio) {
        report.fail(kByRatio, fmt::format("keep ratio {:g} is there twice", given[i].keep_ratio));
      }
    }
    for (const double c : p.keep_ratios) {
      if (c < given.front().keep_ratio || c > given.back().keep_ratio) {
        report.fail("keep_ratio", fmt::format("acceptance.agreement says nothing of keep ratio {:g}: it goes from {:g} "
                                              "to {:g}",
                                              c, given.front().keep_ratio, given.back().keep_ratio));
      }
    }
  });
  return s;
}

/// `agreement: {0.2: 0.97, ...}` is a list of points to the schema, and the agreement a compressor's.
void unfold_agreement(ConfigNode& document) {
  ConfigNode* acceptance = document.is_map() ? document.find("acceptance") : nullptr;
  if (!acceptance || !acceptance->is_map()) return;
  const ConfigNode* agreement = acceptance->find("agreement");
  const ConfigNode* model = acceptance->find("model");
  if (!agreement || !agreement->is_map() || (model && model->text() != "constant")) return;
  ConfigNode points = ConfigNode::sequence(agreement->origin());
  for (const ConfigNode::Entry& entry : agreement->entries()) {
    ConfigNode point = ConfigNode::map(entry.key_origin);
    point.append("keep_ratio", ConfigNode::scalar(entry.key, false, entry.key_origin), entry.key_origin);
    point.append("agreement", entry.value, entry.key_origin);
    points.items().push_back(std::move(point));
  }
  schema::Origin written = agreement->origin();
  acceptance->set("model", ConfigNode::scalar("compressor", false, acceptance->origin()));
  acceptance->erase("agreement");
  document.append(kByRatio, std::move(points), std::move(written));  // which may move its entries
}

SymbolsProblem parse(ConfigNode document) {
  unfold_agreement(document);
  static const ObjectSchema<SymbolsProblem> schema = problem_schema();
  SymbolsProblem problem = schema.parse(document);
  problem.agreement = ascending(problem.agreement);
  return problem;
}

}  // namespace

SymbolsProblem read_symbols_problem(const std::string& path) {
  return parse(schema::read_yaml_file(path));
}

SymbolsProblem read_symbols_text(std::string_view text, const std::string& name) {
  return parse(schema::read_yaml(text, name));
}

}  // namespace kvsim::planner
