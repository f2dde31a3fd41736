// What results say of drafts, from measurements made by hand; and which compositions of policies are lossless, held
// against what their runs measured.
#include "tools/results/scenario_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/schema/error.h"
#include "sim/serving/decode_policy.h"
#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/metrics.h"
#include "tools/results/provenance.h"
#include "tools/results/result_document.h"
#include "tools/results/run_page.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;
const std::string kDrafter = "decode.drafter={type: llama-3.2-1b, draft_length: 3}";

scenario::Scenario two_levels() {
  return small_scenario({"decode.policy=draft_verify+drafter", kDrafter});
}

scenario::Scenario sparse() {
  return small_scenario(
      {"decode={policy: sparse_self, compressor: kvzip, keep_ratio: 0.25, draft_length: 20, sparse: "
       "{selection: pillar-attention, keep_ratio: 0.05, draft_length: 8}}"});
}

/// 10 s on one replica; 40 steps to which the drafter proposed 3 tokens, of which 60 were accepted.
serving::Measurements measured_by_hand() {
  serving::Measurements m;
  m.measured_s = m.capacity_s = 10;
  m.rounds = 10;
  m.drafted_tokens = 200;
  m.accepted_tokens = 150;
  m.drafter = {40, 120, 60, 0.5};
  return m;
}

Json document(const scenario::Scenario& s, const serving::Measurements& m) {
  return result_document(outcome_of(s, m), false);
}

std::string page(const scenario::Scenario& s, const serving::Measurements& m) {
  results::TextStyle wide;
  wide.width = 1000;
  return results::to_text(results::run_page(outcome_of(s, m), false), wide);
}

bool says(const std::vector<std::string>& list, const std::string& words) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

TEST(DrafterDocument, HasTheAcceptanceOfBothLevels) {
  const Json doc = document(two_levels(), measured_by_hand());
  const Json& d = doc["drafter"];
  EXPECT_EQ(d["name"], "llama-3.2-1b");
  EXPECT_EQ(d["draft_length"], 3);
  EXPECT_EQ(d["steps"], 40);
  EXPECT_EQ(d["proposed_tokens"], 120);
  EXPECT_EQ(d["accepted_tokens"], 60);
  EXPECT_EQ(d["acceptance_rate"], 0.5);
  EXPECT_EQ(d["mean_accepted_length"], 1.5);
  EXPECT_EQ(d["gpu_s"], 0.5);
  EXPECT_EQ(d["gpu_time_share"], 0.05);
  EXPECT_EQ(doc["speculation"]["acceptance_rate"], 0.75);
  EXPECT_EQ(doc["details"]["policies"]["drafter"], "llama-3.2-1b");
  for (const char* key : {"drafter", "drafter.steps", "drafter.mean_accepted_length", "drafter.gpu_s"}) {
    EXPECT_TRUE(doc["details"]["definitions"].contains(key)) << key;
  }
  EXPECT_EQ(doc["details"]["definitions"]["drafter.gpu_time_share"], "drafter.gpu_s / the replicas' time");
}

TEST(DrafterDocument, IsOnlyOfPoliciesWithOneAndHasReasonsWhereItProposedNothing) {
  const Json without = document(small_scenario({kDrafter}), measured_by_hand());
  EXPECT_FALSE(without.contains("drafter"));
  EXPECT_FALSE(without["details"]["definitions"].contains("drafter.steps"));
  const Json none = document(two_levels(), {});
  for (const char* key : {"acceptance_rate", "mean_accepted_length", "gpu_time_share"}) {
    EXPECT_TRUE(none["drafter"][key].is_null()) << key;
    EXPECT_TRUE(none["details"]["reasons"].contains(std::string("drafter.") + key)) << key;
  }
}

TEST(DrafterPage, SaysWhichDrafterAndHowMuchOfItIsAccepted) {
  const std::string text = page(two_levels(), measured_by_hand());
  for (const char* words :
       {"draft_verify+drafter with kvzip, keep ratio 0.25, llama-3.2-1b proposing 3 tokens a step, draft length 20",
        "Drafter llama-3.2-1b", "60 of 120 proposed tokens, into drafts", "150 of 200 drafted tokens"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  EXPECT_EQ(page(two_levels(), {}).find("nan"), std::string::npos);
  const std::string alone =
      page(small_scenario({"decode={policy: drafter}", kDrafter, "schedule={}"}), measured_by_hand());
  EXPECT_EQ(alone.find("Speculation"), std::string::npos) << "its steps are what the drafter's section says";
}

TEST(SparseDrafts, AreWhatTheirOwnKeysSay) {
  const std::string text = page(sparse(), measured_by_hand());
  EXPECT_NE(text.find("sparse_self reading 0.05 of the KV, chosen by pillar-attention, draft length 8"),
            std::string::npos)
      << text;
  const Json policies = document(sparse(), {})["details"]["policies"];
  EXPECT_EQ(policies["compressor"], "pillar-attention");
  EXPECT_EQ(policies["keep_ratio"], 0.05);
  EXPECT_EQ(policies["draft_length"], 8);
}

TEST(DrafterFigures, RankASweep) {
  EXPECT_NO_THROW(results::checked_metric("drafter.acceptance_rate"));
  EXPECT_FALSE(results::less_is_better("drafter.acceptance_rate"));
  EXPECT_FALSE(results::less_is_better("drafter.mean_accepted_length"));
  EXPECT_TRUE(results::less_is_better("drafter.gpu_time_share"));
}

const results::Provenance* figure(const std::vector<results::Provenance>& list, const std::string& name) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const auto& p) { return p.figure == name; });
  return at == list.end() ? nullptr : &*at;
}

// Sums of parts of a time may be above it by a last bit.
TEST(Shares, OfLinksAndTokenisersAreAtMostOne) {
  serving::Measurements m = measured_by_hand();
  const double above_s = std::nextafter(10.0, 11.0);
  m.links["host_to_gpu"] = {above_s, 10, 1, 0, 1, 1};
  m.tokenisers_s = 10;
  m.tokenising_s = above_s;
  const Json d = document(
      small_scenario({"decode={policy: full_kv}", "schedule={policy: fcfs, engine: vllm}", "prefill=recompute"}), m);
  EXPECT_EQ(d["links"]["host_to_gpu"]["utilisation"], 1.0);
  EXPECT_EQ(d["tokeniser"]["busy_fraction"], 1.0);
}

TEST(Assumptions, OfAServiceSayThatStoredPromptsAreNotComputed) {
  const auto told = [](const Sets& sets) {
    return says(results::assumptions_of(small_scenario(sets)), "prefill: stored: the KV of every prompt is stored");
  };
  EXPECT_FALSE(told({})) << "ten requests at once: what is asked for is decoding";
  EXPECT_TRUE(told({"slo={ttft_p99: 2 s}"}));
  EXPECT_TRUE(
      told({"workload={arrivals: {rate: 1/s}, context: 16k tokens, output: 200 tokens}", "run.duration=1 min"}));
  EXPECT_FALSE(told(full_kv({"prefill=recompute", "slo={ttft_p99: 2 s}"})));
}

TEST(Provenance, OfADrafterIsThatOfItsArchitectureItsAcceptanceAndItsOverhead) {
  const auto list = results::provenance_of(two_levels());
  for (const char* name : {"drafter", "drafter.acceptance", "profile.drafts.pass", "profile.drafts.round"}) {
    ASSERT_NE(figure(list, name), nullptr) << name;
  }
  EXPECT_EQ(figure(list, "drafter.acceptance")->source, "assumption");
  EXPECT_EQ(figure(list, "drafter.acceptance")->value, "0.75 a token");
  EXPECT_TRUE(
      says(results::assumptions_of(two_levels()), "drafter.acceptance = 0.75 a token: no figure for this pair"));
  EXPECT_TRUE(says(results::assumptions_of(two_levels()), "own KV of a stored prompt is stored and loaded"));
  const auto own = results::provenance_of(
      small_scenario({"decode.policy=draft_verify+drafter",
                      "decode.drafter={type: llama-3.2-1b, acceptance: {model: positions, positions: [0.7, 0.5]}}"}));
  EXPECT_EQ(figure(own, "drafter.acceptance")->source, "scenario");
  EXPECT_EQ(figure(own, "drafter.acceptance")->value, "0.7, 0.5 up to each position");
}

TEST(Provenance, OfSparseDraftsIsThatOfTheirSelection) {
  const auto list = results::provenance_of(sparse());
  ASSERT_NE(figure(list, "sparse.selection.agreement"), nullptr);
  EXPECT_EQ(figure(list, "sparse.selection.agreement")->source, "derived");
  EXPECT_EQ(figure(list, "compressor.agreement"), nullptr) << "kvzip drafts nothing here";
}

// Objects of 10 kB stored compressed, and of 40 kB kept whole.
TEST(VerifiedPlacement, SaysWhatIsKeptWholeAndReadToVerify) {
  const Sets sets = {"decode={policy: draft_verify}",
                     "schedule={}",
                     "prefill=prefix_cache",
                     "workload.prefixes={count: 2, tokens: 1k tokens}",
                     "cluster.storage=[{name: far, read: 1 GB/s}]",
                     "placement={policy: lru, compressor: keydiff, keep_ratio: 0.25}"};
  const scenario::Scenario s = small_scenario(sets);
  serving::Measurements m = measured_by_hand();
  m.placement.whole_loads = 7;
  m.placement.whole_bytes = 210'000;
  m.placement.contents["far"] = {2, 20'000, 80'000, 80'000, {{"keydiff 0.25", 2}}};
  const Json p = document(s, m)["placement"];
  EXPECT_EQ(p["whole_loads"], 7);
  EXPECT_EQ(p["whole_load_bytes"], 210'000);
  EXPECT_EQ(p["contents"]["far"]["whole_bytes"], 80'000);
  EXPECT_EQ(p["contents"]["host"]["whole_bytes"], 0);
  const std::string text = page(s, m);
  for (const char* words : {"draft_verify on prompts as they are stored, draft length 25", "kept whole",
                            "read to verify", "of 7 objects"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  const auto said = results::assumptions_of(s);
  EXPECT_TRUE(says(said, "written whole to the last tier, once, and never leaves it"));
  EXPECT_TRUE(says(said, "exp(-KL per step)"));
  Sets lossy = sets;
  lossy[0] = "decode={policy: full_kv}";
  EXPECT_FALSE(document(small_scenario(lossy), m)["placement"].contains("whole_loads"));
  EXPECT_EQ(page(small_scenario(lossy), m).find("kept whole"), std::string::npos);
}

TEST(VerifiedReuse, HasATimeToTheFirstDraftBesideThatToTheFirstToken) {
  const scenario::Scenario s =
      small_scenario({"decode={policy: draft_verify, acceptance: {model: constant, agreement: 0.9}}", "schedule={}",
                      "prefill=selective", "workload.chunks={count: 50, per_request: 4}", "placement={policy: lru}"});
  serving::Measurements m = measured_by_hand();
  m.ttft_s.add(2);
  m.reuse.verified_tokens = 4096;
  m.reuse.first_drafts = 2;
  m.reuse.first_draft_s = 0.5;
  const Json doc = document(s, m);
  EXPECT_EQ(doc["reuse"]["verified_tokens"], 4096);
  EXPECT_EQ(doc["reuse"]["first_drafts"], 2);
  EXPECT_EQ(doc["reuse"]["time_to_first_draft_s"], 0.25);
  EXPECT_EQ(doc["quality"]["lossless"], true);
  const std::string text = page(s, m);
  for (const char* words :
       {"draft_verify on prompts as they are put together", "computed to verify", "until the prompt is computed whole",
        "would go on from without verification", "first drafted token", "250", "2.00 s after arrival"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  EXPECT_TRUE(says(results::assumptions_of(s), "nobody has published how they do"));
  EXPECT_NE(figure(results::provenance_of(s), "acceptance"), nullptr);
  EXPECT_TRUE(document(s, {})["reuse"]["time_to_first_draft_s"].is_null());
}

/// What becomes of prompts, and whether plain decoding from it gives the output of full KV.
struct Surroundings {
  const char* name;
  bool whole;
  Sets sets;
};

const std::vector<Surroundings>& surroundings() {
  const auto stored = [](const std::string& placement) {
    return Sets{
        "cluster={gpu: {type: h100-sxm, activations: 0 B}, host: {memory: 6 GB}, storage: [{name: far, read: 2 GB/s}]}",
        "workload={closed: {concurrency: 2}, requests: 30, context: 100 tokens, output: 20 tokens, prefixes: "
        "{count: 12, tokens: 8k tokens}}",
        "prefill=prefix_cache", "placement={" + placement + "}"};
  };
  static const std::vector<Surroundings> all = {
      {"none", true, {"workload.requests=12", "workload.output=40 tokens"}},
      {"lru whole", true, stored("policy: lru")},
      {"lru compressed", false, stored("policy: lru, compressor: keydiff, keep_ratio: 0.3")},
      {"utility", false,
       stored("policy: utility, worker_rate: 50 GB/s, utility: {alpha: 1 s}, options: {keep_ratios: [0.3]}")},
      {"selective reuse",
       false,
       {"cluster={gpu: {type: h100-sxm, activations: 0 B}, host: {memory: 6 GB}}",
        "workload={closed: {concurrency: 2}, requests: 30, context: 64 tokens, output: 20 tokens, chunks: {count: 20, "
        "per_request: 4}}",
        "prefill=selective", "placement={policy: lru}", "decode.acceptance={model: constant, agreement: 0.9}"}}};
  return all;
}

/// What the policy needs of its own.
std::string decode_of(const serving::DecodePolicy& policy, bool alone) {
  std::string decode = "decode={policy: " + std::string(policy.name);
  if (policy.low_bit_copy) {
    decode += ", compressor: specache-2bit";
  } else if (policy.reads_compressed && (alone || !policy.verifies)) {
    decode += ", compressor: fast-kvzip, keep_ratio: 0.3";
  } else if (policy.keeps_full) {
    decode += ", sparse: {selection: pillar-attention, keep_ratio: 0.05}";
  }
  if (policy.drafter) decode += ", drafter: {type: llama-3.2-1b}";
  return decode + "}";
}

// Every token is decided by the whole KV where the policy decodes with all of it from prompts that are whole, or
// verifies against it, wherever it comes from. The rest is lossy or refused.
bool expected_lossless(const serving::DecodePolicy& policy, const Surroundings& around) {
  if (policy.verifies && !policy.keeps_full) return true;
  if (policy.reads_compressed && !policy.verifies) return false;
  return around.whole;
}

TEST(Lossless, IsWhatEveryCompositionMeasures) {
  std::vector<std::string> accepted;
  for (const serving::DecodePolicy& policy : serving::decode_policies()) {
    for (const Surroundings& around : surroundings()) {
      const std::string what = std::string(policy.name) + " over " + around.name;
      const bool alone = std::string(around.name) == "none";
      Sets sets = {decode_of(policy, alone), "schedule={}"};
      sets.insert(sets.end(), around.sets.begin(), around.sets.end());
      scenario::Scenario s;
      try {
        s = small_scenario(sets);
      } catch (const schema::InputError& e) {
        EXPECT_FALSE(alone) << what << ": " << e.what();
        continue;
      }
      accepted.push_back(what);
      EXPECT_EQ(results::lossless(s), expected_lossless(policy, around)) << what;
      const serving::Measurements m = measure(s);
      ASSERT_GT(m.completed, 0U) << what;
      const auto finished = static_cast<double>(m.completed);
      if (results::lossless(s)) {
        EXPECT_DOUBLE_EQ(m.quality, finished) << what;
        EXPECT_DOUBLE_EQ(m.kl_nats, 0) << what;
        EXPECT_DOUBLE_EQ(m.same_output, finished) << what;
      } else {
        EXPECT_FALSE(m.same_output == finished) << what << ": nothing of it was lossy";
      }
    }
  }
  const auto among = [&](const char* what) {
    return std::find(accepted.begin(), accepted.end(), what) != accepted.end();
  };
  for (const char* what :
       {"draft_verify over lru compressed", "draft_verify over utility", "draft_verify+drafter over lru compressed",
        "draft_verify over selective reuse", "drafter over lru whole", "drafter over lru compressed",
        "sparse_self over lru whole", "lossy over lru whole", "full_kv over utility", "full_kv over selective reuse"}) {
    EXPECT_TRUE(among(what)) << what;
  }
  for (const char* what :
       {"draft_verify over lru whole", "sparse_self over lru compressed", "lossy over lru compressed",
        "speculative_prefetch over lru whole", "full_offload over utility", "drafter over selective reuse",
        "draft_verify+drafter over selective reuse"}) {
    EXPECT_FALSE(among(what)) << what;
  }
}

TEST(Interference, AnswersSayThatNobodyMeasuredItAndWhatItMayBe) {
  const std::string measured =
      "cluster.gpu.profile.interference={kernels_to_gpu: {value: 0.05, source: measurement, reference: mine}}";
  const auto list = results::assumptions_of(small_scenario());
  EXPECT_TRUE(says(list, "profile.interference.kernels_to_gpu = 0, of 0.017 to 0.11: not measured on this GPU"));
  EXPECT_TRUE(says(list, "profile.interference.copies_to_gpu = 0, of 0 to 0.02"));
  const auto of_mine = results::assumptions_of(small_scenario({measured}));
  EXPECT_FALSE(says(of_mine, "interference.kernels_to_gpu"));
  EXPECT_TRUE(says(of_mine, "interference.copies_to_gpu = 0"));
  EXPECT_FALSE(says(results::assumptions_of(
                        small_scenario({"decode={policy: full_kv}", "schedule={policy: fcfs}", "prefill=recompute"})),
                    "interference"))
      << "nothing is copied";
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
