#include "tools/results/result_document.h"

#include "tools/results/metrics.h"

namespace kvsim::results {
namespace {

Json header() {
  return {{"schema_version", kSchemaVersion}, {"kvsim_version", kvsim_version()}};
}

}  // namespace

Json figures_document(const Outcome& outcome) {
  Json document = Json::object(), reasons = Json::object();
  add_figures(document, reasons, {outcome}, Keys::figures);
  return document;
}

Json result_document(const Outcome& outcome, bool timing) {
  const View view{outcome, timing};
  Json document = Json::object(), reasons = Json::object();
  add_figures(document, reasons, view, Keys::figures);
  if (outcome.result.timeline.period_s > 0) add_figures(document, reasons, view, Keys::timeline);
  add_figures(document, reasons, view, Keys::details);
  if (!outcome.interrupted.empty()) document["details"]["interrupted"] = outcome.interrupted;
  document["details"]["definitions"] = definitions_of(outcome);
  document["details"]["reasons"] = std::move(reasons);  // last: by now it holds them all
  return document;
}

Json results_document(const std::vector<Outcome>& outcomes, bool timing) {
  Json document = header();
  document["results"] = Json::array();
  for (const Outcome& outcome : outcomes) document["results"].push_back(result_document(outcome, timing));
  return document;
}

KeyList results_keys() {
  return head_keys({{"results[]", {kResult, "the result of each scenario"}}});
}

Json timing_document(const std::vector<Outcome>& outcomes) {
  Json document = header();
  document["timing"] = Json::array();
  for (const Outcome& o : outcomes) {
    Json one{{"scenario", o.scenario.name}};
    if (!o.policy.empty()) one["policy"] = o.policy;
    for (const Metric& row : speed_metrics()) one[row.key.substr(row.key.rfind('.') + 1)] = row.figure({o, true}).value;
    document["timing"].push_back(std::move(one));
  }
  return document;
}

}  // namespace kvsim::results
