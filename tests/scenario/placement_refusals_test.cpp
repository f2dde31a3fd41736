// Placements that make no sense as a whole: the message, word for word, and where it points to.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "sim/cache/prompt_cache.h"
#include "sim/systems/systems.h"
#include "tests/scenario/key_rows.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr const char* kPlaced = R"(name: placed
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
  host: {memory: 6 GB}
  storage:
    - {name: ssd, capacity: 10 GB, read: 7 GB/s}
    - {name: remote, read: 2 GB/s}
workload:
  closed: {concurrency: 2}
  prefixes: {count: 12, tokens: 8k tokens}
  context: 64 tokens
  output: 32 tokens
  requests: 30
prefill: prefix_cache
placement: {policy: lru}
decode: {policy: full_kv}
)";

struct Refusal {
  const char* name;
  std::vector<std::pair<std::string, std::string>> edits;
  std::string message;

  friend std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }
};

std::string edited(const Refusal& refusal) {
  std::string text = kPlaced;
  for (const auto& [from, to] : refusal.edits) {
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("the scenario has no \"" + from + "\"");
    text.replace(at, from.size(), to);
  }
  return text;
}

class RefusedPlacement : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedPlacement, WithThisMessageAtThisPlace) {
  try {
    scenario::load_scenario_text(edited(GetParam()), "placed.yaml");
    FAIL() << "accepted:\n" << edited(GetParam());
  } catch (const schema::InputError& e) {
    EXPECT_EQ(std::string(e.what()), GetParam().message);
  }
}

TEST(RefusedPlacement, IsNoneAsItStands) {
  EXPECT_NO_THROW(scenario::load_scenario_text(kPlaced, "placed.yaml"));
}

TEST(RefusedPlacement, IsAPolicyThatNoTableHas) {
  // The scenario's field table finds it first; programs that fill in a configuration themselves come here.
  serving::ServingConfig config = small_scenario(placed()).serving;
  config.placement->policy = "random";
  try {
    systems::check(config);
    FAIL();
  } catch (const serving::ConfigurationError& e) {
    EXPECT_EQ(e.key() + ": " + e.what(), "placement.policy: unknown placement policy random");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Placements, RefusedPlacement,
    ::testing::Values(
        Refusal{"ATierWithTheNameOfHostMemory",
                {{"name: remote", "name: host"}},
                "placed.yaml:8:14: cluster.storage.1.name: another tier has the name host: choose a different one"},
        Refusal{"TwoTiersOfOneName",
                {{"name: remote", "name: ssd"}},
                "placed.yaml:8:14: cluster.storage.1.name: another tier has the name ssd: choose a different one"},
        Refusal{"ATierBelowOneWithoutEnd",
                {{"capacity: 10 GB, ", ""}},
                "placed.yaml:7:7: cluster.storage.0.capacity: ssd has no end, and nothing would ever reach remote "
                "below it: give it a capacity"},
        Refusal{"ATierOfOneReplicaBelowASharedOne",
                {{"read: 7 GB/s", "read: 7 GB/s, shared: true"}},
                "placed.yaml:8:7: cluster.storage.1.shared: the tier above remote is shared by all replicas, and below "
                "it all are: use shared: true"},
        Refusal{"ATierOfOneReplicaBelowSharedMemory",
                {{"memory: 6 GB", "memory: 6 GB, shared: true"}},
                "placed.yaml:7:7: cluster.storage.0.shared: the tier above ssd is shared by all replicas, and below it "
                "all are: use shared: true"},
        Refusal{"PromptsThatAreNotStored",
                {{"prefill: prefix_cache", "prefill: recompute"}},
                "placed.yaml:16:12: placement: says what becomes of prompts that are stored and found again: use "
                "prefill: prefix_cache, or one that reuses chunks (selective, cacheblend, epic, full_reuse)"},
        Refusal{"ACompressorThatNobodyRunsWhilePromptsArrive",
                {{"policy: full_kv", "policy: lossy, compressor: kvzip, keep_ratio: 0.5"}},
                "placed.yaml:17:37: decode.compressor: compressor kvzip works offline, before a request arrives: use "
                "prefill {policy: stored}, or a compressor whose mode is online"},
        Refusal{"NoTier",
                {{"memory: 6 GB", "memory: 0 B"},
                 {"  storage:\n    - {name: ssd, capacity: 10 GB, read: 7 GB/s}\n    - {name: remote, read: 2 GB/s}\n",
                  ""}},
                "placed.yaml:5:18: cluster.host.memory: there is no tier to store prompts in: give "
                "cluster.host.memory, cluster.storage or placement.gpu_memory"},
        Refusal{"ProfilesOfBlocks",
                {{"policy: lru", "policy: utility, granularity: blocks, profiling: {online: true}"}},
                "placed.yaml:16:71: placement.profiling.online: a block or chunk belongs to many contexts, and nobody "
                "profiles "
                "it alone: use granularity: contexts"},
        Refusal{"ProfilingBeyondTheBatch",
                {{"policy: lru", "policy: utility, profiling: {online: true, queries: 50}"}},
                "placed.yaml:16:65: placement.profiling.queries: profiling decodes every query with every "
                "representation, 650 sequences at once, and schedule.max_requests allows 256: use fewer queries or "
                "options"},
        Refusal{"StoredPromptsTakeAllMemory",
                {{"policy: lru", "policy: lru, gpu_memory: 70 GB"}},
                "placed.yaml:16:38: placement.gpu_memory: stored prompts take 70.0 GB of the 59.6 GB that llama-3.1-8b "
                "leaves for KV, and requests have no block: give them less"},
        Refusal{"StorageWithoutPlacement",
                {{"placement: {policy: lru}\n", ""}},
                "placed.yaml:7:5: cluster.storage: belongs to placement, and there is none: remove this key"},
        Refusal{"SharedMemoryWithoutPlacement",
                {{"placement: {policy: lru}\n", ""},
                 {"memory: 6 GB", "memory: 6 GB, shared: true"},
                 {"  storage:\n    - {name: ssd, capacity: 10 GB, read: 7 GB/s}\n    - {name: remote, read: 2 GB/s}\n",
                  ""}},
                "placed.yaml:5:32: cluster.host.shared: belongs to placement, and there is none: remove this key"},
        Refusal{"OutagesOfMemoryWithoutPlacement",
                {{"placement: {policy: lru}\n", ""},
                 {"memory: 6 GB", "memory: 6 GB, outages: [{at: 1 s, lasting: 1 s}]"},
                 {"  storage:\n    - {name: ssd, capacity: 10 GB, read: 7 GB/s}\n    - {name: remote, read: 2 GB/s}\n",
                  ""}},
                "placed.yaml:5:33: cluster.host.outages: belongs to placement, and there is none: remove this key"},
        Refusal{"ContextsOfATrace",
                {{"  closed: {concurrency: 2}\n  prefixes: {count: 12, tokens: 8k tokens}\n  context: 64 tokens\n  "
                  "output: 32 tokens\n  requests: 30\n",
                  "  trace: {format: mooncake, path: t.jsonl}\n"},
                 {"policy: lru", "policy: lru, granularity: contexts"}},
                "placed.yaml:12:39: placement.granularity: requests of a trace share blocks, and nobody knows their "
                "contexts: use blocks, or workload.prefixes"},
        Refusal{"ContextsOfChunks",
                {{"  prefixes: {count: 12, tokens: 8k tokens}\n", "  chunks: {count: 12, per_request: 4}\n"},
                 {"policy: lru", "policy: lru, granularity: contexts"}},
                "placed.yaml:16:39: placement.granularity: prompts made of chunks have no context of their own to "
                "store: use chunks where prefill puts them together, blocks with prefix_cache"},
        Refusal{"TheFutureOfAnEndlessRun",
                {{"  requests: 30\n", ""},
                 {"decode: {policy: full_kv}", "decode: {policy: full_kv}\nrun: {duration: 1 min}"},
                 {"policy: lru", "policy: belady"}},
                "placed.yaml:15:21: placement.policy: belady must know all requests beforehand: give "
                "workload.requests, or use a trace"},
        Refusal{"AQuantiserAmongMethods",
                {{"policy: lru", "policy: utility, options: {methods: [kivi-4bit]}"}},
                "placed.yaml:16:50: placement.options.methods.0: kivi-4bit does not only drop tokens: move it to "
                "quantisers, or choose a method that drops tokens"},
        Refusal{"AMethodAmongQuantisers",
                {{"policy: lru", "policy: utility, options: {quantisers: [kvzip]}"}},
                "placed.yaml:16:53: placement.options.quantisers.0: kvzip does not only narrow elements: move it to "
                "methods, or choose a quantiser"},
        Refusal{"AQuantiserOfUnknownQuality",
                {{"policy: lru",
                  "policy: utility, options: {quantisers: [{name: mine, description: mine, kind: quantisation, mode: "
                  "online, scope: all, reload: whole, bits_per_element: 4}]}"}},
                "placed.yaml:16:53: placement.options.quantisers.0: mine has no quality curve, which stored objects "
                "need: add `quality` to its entry"},
        Refusal{"AStoredFormOfUnknownQuality",
                {{"policy: lru",
                  "policy: lru, compressor: {name: mine, description: mine, kind: quantisation, mode: online, scope: "
                  "all, reload: whole, bits_per_element: 4}"}},
                "placed.yaml:16:38: placement.compressor: mine has no quality curve, which stored objects need: add "
                "`quality` to its entry"},
        Refusal{"AMethodTwice",
                {{"policy: lru", "policy: utility, options: {methods: [kvzip, kvzip]}"}},
                "placed.yaml:16:57: placement.options.methods.1: kvzip is in the list twice: remove one"},
        Refusal{"AQuantiserTwice",
                {{"policy: lru", "policy: utility, options: {quantisers: [kivi-4bit, kivi-4bit]}"}},
                "placed.yaml:16:64: placement.options.quantisers.1: kivi-4bit is in the list twice: remove one"},
        Refusal{"AKeepRatioTwice",
                {{"policy: lru", "policy: utility, options: {keep_ratios: [0.5, 0.5]}"}},
                "placed.yaml:16:59: placement.options.keep_ratios.1: 0.5 is in the list twice: remove one"},
        Refusal{"AFileWithoutAPath",
                {{"policy: lru", "policy: lru, quality: {source: file}"}},
                "placed.yaml:16:35: placement.quality: missing key \"path\", expected a CSV file with the columns "
                "context, method, keep_ratio, quality"},
        Refusal{
            "SharesThatDoNotAddUp",
            {{"policy: lru", "policy: lru, quality: {best: {kvzip: 1}}"}},
            "placed.yaml:16:42: placement.quality.best: kvzip 1, knorm 0.4, snapkv 0.2 and keydiff 0 add up to 1.6: "
            "shares of all contexts must add up to 1"},
        Refusal{"TheBestMethodLosingMost",
                {{"policy: lru", "policy: lru, quality: {advantage: 0.9, disadvantage: 0.8}"}},
                "placed.yaml:16:47: placement.quality.advantage: 0.9 is above disadvantage, 0.8: the method that suits "
                "a context best cannot lose more than the others"},
        Refusal{"AKeepRatioWithoutACompressor",
                {{"policy: lru", "policy: lru, keep_ratio: 0.5"}},
                "placed.yaml:16:38: placement.keep_ratio: belongs to a compressor, and none is given: add compressor, "
                "or remove it"},
        Refusal{"ACompressorThatDoesBoth",
                {{"policy: lru", "policy: lru, compressor: {base: kivi-4bit, kind: both}"}},
                "placed.yaml:16:38: placement.compressor: kivi-4bit (changed) drops tokens and narrows elements: "
                "stored objects take one that does one of both, and policy utility combines two"},
        Refusal{
            "ACompressorWithoutAKeepRatio",
            {{"policy: lru", "policy: lru, compressor: keydiff"}},
            "placed.yaml:16:12: placement: missing key \"keep_ratio\", which compressor keydiff needs, such as 0.25"},
        Refusal{"AKeepRatioOfAQuantiser",
                {{"policy: lru", "policy: lru, compressor: kivi-4bit, keep_ratio: 0.5"}},
                "placed.yaml:16:61: placement.keep_ratio: kivi-4bit keeps 0.3125 by its bits and groups: remove this "
                "key, or choose another compressor"},
        Refusal{"ACompressorUnderUtility",
                {{"policy: lru", "policy: utility, compressor: kivi-4bit"}},
                "placed.yaml:16:42: placement.compressor: not with policy utility: it chooses a compressor for each "
                "object: use options.methods or options.quantisers"},
        Refusal{"AKeepRatioUnderUtility",
                {{"policy: lru", "policy: utility, keep_ratio: 0.5"}},
                "placed.yaml:16:42: placement.keep_ratio: not with policy utility: it chooses one for each object: use "
                "options.keep_ratios"},
        Refusal{"ACompressorOfImportantChunks",
                {{"policy: lru", "policy: importance_chunks, compressor: kivi-4bit"}},
                "placed.yaml:16:52: placement.compressor: not with policy importance_chunks: important chunks are "
                "stored whole: use importance.share for how much is stored"},
        Refusal{"ACompressorOfNothing",
                {{"policy: lru", "policy: none, compressor: kivi-4bit"}},
                "placed.yaml:16:39: placement.compressor: not with policy none: nothing is stored that could be "
                "compressed: remove this key"},
        Refusal{"OutagesThatOverlap",
                {{"read: 7 GB/s", "read: 7 GB/s, outages: [{at: 1 s, lasting: 5 s}, {at: 2 s, lasting: 1 s}]"}},
                "placed.yaml:7:85: cluster.storage.0.outages.1: overlaps an outage before it in the list: make one of "
                "them"},
        Refusal{"AnUnknownPolicy",
                {{"policy: lru", "policy: lur"}},
                "placed.yaml:16:21: placement.policy: unknown value \"lur\"; did you mean \"lru\"?"}));

const std::string kCompressed = "policy: lru, compressor: keydiff, keep_ratio: 0.3";
const std::pair<std::string, std::string> kByKeyDiff = {"policy: lru", kCompressed},
                                          kVerified = {"full_kv", "draft_verify"};

INSTANTIATE_TEST_SUITE_P(
    Decoding, RefusedPlacement,
    ::testing::Values(
        Refusal{
            "DraftsOnPromptsThatAreWhole",
            {kVerified},
            "placed.yaml:17:18: decode.policy: over placement draft_verify drafts on what is stored compressed, and "
            "lru stores prompts whole (compressing them for drafts while tiers keep the whole ones is not "
            "simulated): give placement.compressor, use utility, full_kv or sparse_self"},
        Refusal{"DraftsWithoutATierForWholePrompts",
                {kByKeyDiff, kVerified, {"name: remote, read", "name: remote, capacity: 1 TB, read"}},
                "placed.yaml:7:5: cluster.storage: what is verified against is kept whole in the last tier, which must "
                "be without end: give a device without capacity"},
        Refusal{"ASchedulePolicyWithoutVerifications",
                {kByKeyDiff, {"full_kv}", "full_kv}\nschedule: {policy: staggered}"}},
                "placed.yaml:18:20: schedule.policy: schedule staggered orders verifications and decode policy full_kv "
                "has none: use fcfs"},
        Refusal{"DraftsOfUnknownAgreement",
                {{"policy: lru", "policy: importance_chunks"}, kVerified},
                "placed.yaml:17:9: decode.acceptance: nothing is known of how drafts on \"important chunks\" agree "
                "with the whole KV: give decode.acceptance, or other options"},
        Refusal{"GoodputOfDraftsThatEndByThemselves",
                {kByKeyDiff, {"full_kv", "draft_verify, draft_lengths: {policy: goodput}"}},
                "placed.yaml:17:56: decode.draft_lengths.policy: goodput predicts rounds that reload from host memory, "
                "and here drafts end when a whole prompt is there: use fixed or adaptive"},
        Refusal{"ProfilesOfVerifiedPrompts",
                {{"policy: lru", "policy: utility, profiling: {online: true}"}, kVerified},
                "placed.yaml:16:50: placement.profiling.online: verified requests lose no quality that could be "
                "profiled: leave it out"},
        Refusal{"PairsFetchedBesideStoredPrompts",
                {{"full_kv", "speculative_prefetch, compressor: specache-2bit"}},
                "placed.yaml:17:18: decode.policy: speculative_prefetch keeps running requests' KV in host memory, "
                "which is a tier for stored prompts here: use full_kv, drafter, sparse_self or draft_verify"},
        Refusal{"AStreamedKvBesideStoredPrompts",
                {{"full_kv", "full_offload"}},
                "placed.yaml:17:18: decode.policy: full_offload keeps running requests' KV in host memory, which is a "
                "tier for stored prompts here: use full_kv, drafter, sparse_self or draft_verify"},
        Refusal{"PromptsCompressedTwice",
                {kByKeyDiff, {"full_kv", "lossy, compressor: fast-kvzip, keep_ratio: 0.5"}},
                "placed.yaml:17:18: decode.policy: placement compresses prompts, and lossy would compress them again: "
                "use full_kv, which decodes with them as they are stored"},
        Refusal{"SparseDraftsOnCompressedPrompts",
                {kByKeyDiff, {"full_kv", "sparse_self, sparse: {selection: pillar-attention, keep_ratio: 0.05}"}},
                "placed.yaml:17:18: decode.policy: sparse_self verifies against the full KV in GPU memory, and of what "
                "placement stores compressed only a part comes there: use draft_verify, or store prompts whole"},
        Refusal{"StoringWhatOnlyChooses",
                {{"policy: lru", "policy: lru, compressor: pillar-attention, keep_ratio: 0.05"}},
                "placed.yaml:16:38: placement.compressor: pillar-attention chooses anew what to read out of the whole "
                "KV, and nothing smaller can be stored: use a compressor"},
        Refusal{"AnOptionThatOnlyChooses",
                {{"policy: lru", "policy: utility, options: {methods: [knorm, pillar-attention]}"}},
                "placed.yaml:16:57: placement.options.methods.1: pillar-attention chooses anew what to read out of the "
                "whole KV, and nothing smaller can be stored: use a compressor"}));

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
