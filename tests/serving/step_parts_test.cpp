// What a request reads in a forward pass, by its part in it and by what the decode policy keeps.
#include "sim/serving/step_parts.h"

#include <gtest/gtest.h>

#include "sim/serving/kv_capacity.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using memory::KvForm;
using serving::Work;

/// 1000 tokens of a prompt of which a quarter is kept, 40 generated and 5 drafted.
serving::Request drafting_request() {
  serving::Request r;
  r.prompt = r.prefill.target = r.prefill.done = 1000;
  r.output = 100;
  r.generated = 40;
  r.round.drafted = 5;
  return r;
}

models::StepWork work_of(const std::string& policy, KvForm drafts_read, const serving::StepPart& part,
                         const serving::Request& r = drafting_request()) {
  scenario::Scenario s = small_scenario();
  serving::ServingConfig& c = s.serving;
  c.decode.policy = policy;
  const serving::DecodePolicy decode = serving::configured_policy(c);
  const serving::KvGeometry geometry = serving::configured_geometry(c, c.cluster.groups.front());
  const models::StepTimer timer(c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link,
                                c.cluster.groups.front().profile, c.model, 1);
  models::StepWork work;
  serving::StepParts(c, c.cluster.groups.front(), decode, geometry, timer, drafts_read).add(r, part, work);
  return work;
}

TEST(StepParts, DraftsAttendToWhatTheCompressorKeptOrWhereItIsHeldInFullSizeToEverything) {
  const serving::StepPart draft{Work::draft, 1};
  EXPECT_DOUBLE_EQ(work_of("draft_verify", KvForm::compressed, draft).decode.pairs, 250 + 40 + 5);
  EXPECT_DOUBLE_EQ(work_of("draft_verify", KvForm::full, draft).decode.pairs, 1000 + 40 + 5);
}

TEST(StepParts, DecodingReadsTheFullKvUnlessThePolicyIsLossy) {
  const serving::StepPart decode{Work::decode, 1};
  for (const KvForm drafts : {KvForm::full, KvForm::compressed}) {  // whatever drafts read
    EXPECT_DOUBLE_EQ(work_of("draft_verify", drafts, decode).decode.pairs, 1000 + 40);
    EXPECT_DOUBLE_EQ(work_of("full_kv", drafts, decode).decode.pairs, 1000 + 40);
    EXPECT_DOUBLE_EQ(work_of("lossy", drafts, decode).decode.pairs, 250 + 40);
  }
}

TEST(StepParts, ProposedTokensAreFurtherQueriesOfOnePassOverTheSameKv) {
  const models::StepWork alone = work_of("full_kv", KvForm::full, {Work::decode, 1});
  const models::StepWork three = work_of("full_kv", KvForm::full, {Work::decode, 4, 3});
  EXPECT_DOUBLE_EQ(three.verify.query_tokens, 4);
  EXPECT_DOUBLE_EQ(three.logit_tokens, 4);
  EXPECT_DOUBLE_EQ(three.verify.kv_bytes, alone.decode.kv_bytes * (1040 + 3) / 1040);  // and the three themselves
}

TEST(StepParts, CatchingUpComputesAllThatWasGeneratedAndGivesLogitsOfTheDraftsAlone) {
  const models::StepWork verified = work_of("draft_verify", KvForm::compressed, {Work::verify, 6});
  const models::StepWork caught_up = work_of("draft_verify", KvForm::compressed, {Work::catch_up, 46});
  EXPECT_DOUBLE_EQ(verified.verify.query_tokens, 5 + 1);
  EXPECT_DOUBLE_EQ(caught_up.verify.query_tokens, 40 + 5 + 1);
  EXPECT_DOUBLE_EQ(caught_up.logit_tokens, verified.logit_tokens);
  EXPECT_DOUBLE_EQ(caught_up.verify.kv_bytes, verified.verify.kv_bytes);
}

TEST(StepParts, AVerificationComputesAgainWhatOfAPromptWasComputedOverLossyKv) {
  serving::Request r = drafting_request();
  r.round.tail = 100;
  EXPECT_EQ(serving::verified_tokens(r), 100 + 5 + 1);
  const models::StepWork work = work_of("draft_verify", KvForm::full, {Work::verify, serving::verified_tokens(r)}, r);
  EXPECT_DOUBLE_EQ(work.verify.query_tokens, 106);
  // Each attends to what comes before it and to itself: 106 x 940 + 106 x 107 / 2.
  EXPECT_DOUBLE_EQ(work.verify.pairs, 106 * 940 + 5671);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
