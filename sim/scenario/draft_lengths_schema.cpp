#include "sim/scenario/schemas.h"

#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::scenario {

using schema::integer;
using schema::ObjectSchema;
using schema::Reporter;
using serving::DraftLengthConfig;

ObjectSchema<DraftLengthConfig> draft_lengths_schema() {
  ObjectSchema<DraftLengthConfig> s("draft_lengths", "How many tokens each round drafts before its verification.");
  s.optional("policy", &DraftLengthConfig::policy, schema::one_of(words_of(serving::draft_length_policies())),
             "who chooses");
  s.optional("minimum", &DraftLengthConfig::minimum, integer().non_negative().at_most(serving::kLongestDraft),
             "shortest draft that adaptive and goodput choose (0: none, where an auxiliary drafter "
             "proposes it); the regret of every policy is against lengths from here to maximum");
  s.optional("maximum", &DraftLengthConfig::maximum, integer().at_least(1).at_most(serving::kLongestDraft),
             "longest draft, likewise");
  s.check([](const DraftLengthConfig& c, const Reporter& report) {
    if (c.minimum > c.maximum) report.fail("minimum", "must not exceed maximum");
  });
  s.own_keys(serving::draft_length_policies(), &DraftLengthConfig::own, &DraftLengthConfig::policy,
             "draft length policy");
  return s;
}

}  // namespace kvsim::scenario
