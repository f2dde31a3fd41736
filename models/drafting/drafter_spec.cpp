#include "models/drafting/drafter_spec.h"

#include <algorithm>
#include <cmath>

#include "models/schemas.h"

namespace kvsim::models {

std::int64_t DrafterSpec::own_weight_bytes() const {
  if (!shares_head) return network.weight_bytes();
  return network.weight_bytes() - std::llround(network.head_weight_bytes());
}

bool DrafterSpec::drafts_for(const std::string& target) const {
  return targets.empty() || std::find(targets.begin(), targets.end(), target) != targets.end();
}

namespace {

using namespace schema;
using D = DrafterSpec;

/// {law: {model: ...}, source, reference}, held in two members. Changed as a whole, as figures with a source are.
ObjectSchema<D> sourced_acceptance() {
  ObjectSchema<D> s("drafter acceptance", "How many tokens of a draft the target accepts.");
  s.object("law", &D::acceptance, acceptance_schema(), Presence::required, "law of the accepted length");
  add_source_fields(s, &D::acceptance_source, Presence::optional);
  s.check([](const D& drafter, const Reporter& report) {
    if (drafter.acceptance.kind == AcceptanceKind::compressor) {
      report.fail("law.model", "a drafter has no compressor to take an agreement from: choose another model");
    }
  });
  return s;
}

void check_sharing(const D& drafter, const Reporter& report) {
  if (!drafter.shares_head) return;
  if (drafter.kind == DrafterKind::model) {
    report.fail("shares_head", "a model of its own has its own LM head");
  }
  if (!drafter.network.tied_embeddings) {
    report.fail("shares_head",
                "needs tied_embeddings in network: beside the target's LM head there is no table to hold");
  }
  if (drafter.network.weight_bytes_override > 0) {
    report.fail("shares_head", "needs weights that follow from the architecture, and network.weights is given");
  }
}

ObjectSchema<D> drafter_fields() {
  ObjectSchema<D> s("drafter",
                    "What proposes tokens for a target model to check: its passes, its memory, how many hold.");
  add_entry_fields(s);
  s.required("kind", &D::kind,
             choice<DrafterKind>({{"head", DrafterKind::head, "a few layers on the target's hidden states (EAGLE)"},
                                  {"module", DrafterKind::module, "a layer trained with the target (MTP)"},
                                  {"model", DrafterKind::model, "a separate, smaller model"}}),
             "what drafts");
  s.reference("network", &D::network, "model", llm_schema(), Presence::required,
              "what one pass computes: a model of the catalogue, or an architecture of its own");
  s.optional("shares_head", &D::shares_head, boolean(),
             "the LM head is the target's: read by every pass, held once; network ties its embeddings then");
  s.optional(
      "block", &D::block, boolean(),
      "all tokens of a draft come from one pass, which computes a query token for each; false: from a pass each");
  s.object("acceptance", sourced_acceptance(), Presence::required, "how many tokens of a draft the target accepts");
  s.list("targets", &D::targets, text().non_empty(), Presence::optional,
         "catalogue names of the models it was trained for or measured with; none: any of its vocabulary");
  s.required("draft_length", &D::draft_length, integer().at_least(1).usually(1, 4096),
             "tokens proposed before each pass of the target");
  s.optional("pass_overhead", &D::pass_overhead_s, time().non_negative().usually(0, 60),
             "time of one pass beyond its kernels; by default that of schedule.engine (profile.drafts)");
  s.check(check_sharing);
  return s;
}

}  // namespace

const ObjectSchema<DrafterSpec>& drafter_schema() {
  static const ObjectSchema<DrafterSpec> schema = drafter_fields();
  return schema;
}

}  // namespace kvsim::models
