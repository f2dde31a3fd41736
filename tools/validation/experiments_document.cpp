// Experiments as a JSON document.
#include "tools/results/documents.h"
#include "tools/validation/experiments_page.h"

namespace kvsim::validation {
namespace {

using results::kPlain;
using results::kText;

const results::Fields<JudgedPoint> kPointFields{
    {"panel", {kText, "which axes"}, &JudgedPoint::panel},
    {"series", {kText, "line or colour of the figure"}, &JudgedPoint::series},
    {"at", {kText, "where on the x axis"}, &JudgedPoint::at},
    {"place", {kText, "in the paper"}, &JudgedPoint::place},
    {"published_low", {kPlain, "the published figure, or the lower end of its range"}, &JudgedPoint::low},
    {"published_high", {kPlain, "the published figure, or the upper end of its range"}, &JudgedPoint::high},
    {"simulated", {kPlain, "what the simulator makes of it"}, &JudgedPoint::simulated},
    {"error", {kPlain, "relative difference from what is published; 0 within a range"}, &JudgedPoint::error},
    {"tolerance", {kPlain, "of the error"}, &JudgedPoint::tolerance},
    {"evidence", {kText, "prediction, fitted or input"}, [](const JudgedPoint& p) { return to_string(p.evidence); }},
    {"spread",
     {kPlain, "share of the published range that the values simulated of it take up; null of what is no range"},
     [](const JudgedPoint& p) {
       return p.spread && p.high > p.low ? std::optional((p.spread->high - p.spread->low) / (p.high - p.low))
                                         : std::nullopt;
     }},
    {"within",
     {results::kTruth, "whether the error is within the tolerance, and the spread no less than half of a range's"},
     [](const JudgedPoint& p) { return p.within(); }}};

const results::Fields<JudgedClaim> kClaimFields{
    {"what", {kText, "what the paper says without a number"}, &JudgedClaim::what},
    {"place", {kText, "in the paper"}, &JudgedClaim::place},
    {"holds", {results::kTruth, "whether it holds of what is simulated"}, &JudgedClaim::holds}};

const results::Fields<Reproduced::Other> kOtherFields{
    {"name", {kText, "of the free assumption"}, &Reproduced::Other::name},
    {"value", {kText, "what it is taken for"}, &Reproduced::Other::value},
    {"verdict", {kText, "with it"}, [](const Reproduced::Other& o) { return to_string(o.outcome); }},
    {"distance", {kPlain, "mean |ln(simulated / published)| of the points with it"}, [](const Reproduced::Other& o) {
       return o.closeness.mean();
     }}};

const results::Fields<Reproduced>& experiment_fields() {
  using F = results::Field<Reproduced>;
  static const results::Fields<Reproduced> fields{
      {"name", {kText, "of the experiment"}, [](const Reproduced& r) -> const std::string& { return r.file->name; }},
      {"place", {kText, "in the paper"}, [](const Reproduced& r) -> const std::string& { return r.file->place; }},
      {"title",
       {kText, "what the figure shows"},
       [](const Reproduced& r) -> const std::string& { return r.file->title; }},
      {"verdict",
       {kText, "reproduced, shape, off or cannot"},
       [](const Reproduced& r) { return to_string(r.outcome); }},
      {"counts_as",
       {kText, "predicted, fitted, inputs, order only, off or cannot"},
       [](const Reproduced& r) { return to_string(r.standing()); }},
      {"reason",
       {kText, "why nothing of it can be simulated"},
       [](const Reproduced& r) { return r.file->cannot.empty() ? std::nullopt : std::optional(r.file->cannot); }},
      {"miss",
       {kText, "what explains that it is not reproduced"},
       [](const Reproduced& r) {
         return r.miss.empty() || r.outcome == Outcome::reproduced ? std::nullopt : std::optional(r.miss);
       }},
      F::list(
          "points", "published points", [](const Reproduced& r) -> const std::vector<JudgedPoint>& { return r.points; },
          kPointFields),
      F::list(
          "claims", "what is published in words",
          [](const Reproduced& r) -> const std::vector<JudgedClaim>& { return r.claims; }, kClaimFields),
      F::list(
          "sensitivity", "with other free assumptions",
          [](const Reproduced& r) -> const std::vector<Reproduced::Other>& { return r.others; }, kOtherFields),
      F::values("assumptions[]", {kText, "what is taken for granted in this figure"},
                [](const Reproduced& r) { return results::Json(r.assumptions); })};
  return fields;
}

using All = const std::vector<Reproduced>*;

const results::Fields<All>& all_fields() {
  using F = results::Field<All>;
  static const results::Fields<All> fields{F::list(
      "experiments", "every experiment", [](const All& all) -> const std::vector<Reproduced>& { return *all; },
      experiment_fields())};
  return fields;
}

}  // namespace

results::Json experiments_document(const std::vector<Reproduced>& all) {
  results::Json unread = results::Json::object();
  const All pointer = &all;
  return filled(results::document_head(unread), all_fields(), pointer).take();
}

results::KeyList experiments_keys() {
  return results::head_keys(keys_of(all_fields()));
}

}  // namespace kvsim::validation
