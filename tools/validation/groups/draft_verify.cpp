// Published anchors of drafting on compressed KV and verifying against full KV.
#include "models/acceptance/acceptance.h"
#include "models/catalogue/catalogue.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/groups/published_scenarios.h"

namespace kvsim::validation {
namespace {

constexpr double kKeepRatio = 0.25;  // of the published acceptance and divergence of KVzip

Figure acceptance_length() {
  constexpr std::int64_t x = 30;
  const models::CompressorSpec kvzip = models::Catalogue::built_in().compressor("kvzip");
  Figure f;
  f.id = "draft-verify/kvzip.acceptance";
  f.what = "KVzip c = 0.25, 30 drafted";
  f.expected = 23;
  f.simulated = models::AcceptanceModel({}, kvzip.agreement_at(kKeepRatio), x).expected_accepted(x);
  f.tolerance = 0.02;
  f.source = "VeriCache, acceptance length on Llama-70B, KVzip c = 0.25, x = 30 (about)";
  f.assumptions = {"every token is accepted with the same chance; the catalogue's agreement is fitted to this figure"};
  return f;
}

Figure divergence() {
  constexpr double steps = 250;
  Figure f;
  f.id = "draft-verify/kvzip.divergence";
  f.what = "KVzip c = 0.25, 250 steps";
  f.unit = "nats";
  f.expected = 6;
  f.simulated = models::Catalogue::built_in().compressor("kvzip").step_kl(kKeepRatio) * steps;
  f.tolerance = 0.05;
  f.source = "VeriCache, KL of KVzip c = 0.25: 250 steps, about 6 nats";
  f.assumptions = {"divergence grows by the same KL at every step"};
  return f;
}

}  // namespace

std::vector<Figure> draft_verify_figures(const Inputs&) {
  std::vector<Figure> figures = worked_example_figures();
  const auto append = [&figures](std::vector<Figure> more) { figures.insert(figures.end(), more.begin(), more.end()); };
  append(headline_figures(1));
  append({acceptance_length(), divergence()});
  return figures;
}

}  // namespace kvsim::validation
