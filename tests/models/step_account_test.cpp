// Accounts of steps by hand, on a GPU of 100 B/s and 1000 FLOP/s with a model of 1360 B of weights read and 680
// multiplied parameters (tiny_machine.h): t = max(bytes / 100, FLOPs / 1000), kernel by kernel.
#include "models/kernels/step_account.h"

#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_model;
using testing::tiny_timer;

StepWork decodes(double requests) {
  StepWork w;
  w.decode.query_tokens = w.logit_tokens = requests;
  return w;
}

StepAccount account(const StepTimer& timer, const StepWork& work) {
  return StepAccounts(timer).of(work);
}

double of(const PerResource& parts, Resource r) {
  return parts[static_cast<std::size_t>(r)];
}

TEST(StepAccount, OfAStepThatStreamsIsBoundByBandwidth) {
  const StepAccount a = account(tiny_timer(ideal_profile()), decodes(1));
  EXPECT_NEAR(of(a.bound, Resource::hbm_bandwidth), 1, 1e-9);
  EXPECT_NEAR(of(a.saved, Resource::hbm_bandwidth), 0.5, 1e-9);
  EXPECT_EQ(of(a.saved, Resource::compute), 0);
}

TEST(StepAccount, BesideTheRidgeTheNextResourceBindsAtOnce) {
  // 8 tokens: 13.6 s of streaming beside 8 x 1.36 = 10.88 s of arithmetic. Twice the bandwidth saves 20 %, not 50 %.
  // Both save 50 % together, which is shared out: the mean of 20 and 50 % for the bandwidth, of 0 and 30 % for the
  // rest.
  const StepAccount a = account(tiny_timer(ideal_profile()), decodes(8));
  EXPECT_NEAR(of(a.saved, Resource::hbm_bandwidth), 0.2, 1e-9);
  EXPECT_NEAR(of(a.bound, Resource::hbm_bandwidth), 0.7, 1e-9);
  EXPECT_NEAR(of(a.bound, Resource::compute), 0.3, 1e-9);
  // 16 tokens: 21.76 s of arithmetic, with twice the rate 13.6 s of streaming.
  const StepAccount b = account(tiny_timer(ideal_profile()), decodes(16));
  EXPECT_NEAR(of(b.saved, Resource::compute), 1 - 13.6 / 21.76, 1e-9);
}

TEST(StepAccount, FixedTimesAndTheHostsHaveSharesOfTheirOwn) {
  // 5 kernels of weights start in 1 s each, 5 s of overhead: 13.6 + 5 + 5 = 23.6 s.
  KernelProfile p = ideal_profile();
  p.linear_t0_s.value = 1;
  p.iteration_overhead_s.value = 5;
  const StepAccount a = account(tiny_timer(p), decodes(1));
  EXPECT_NEAR(of(a.bound, Resource::hbm_bandwidth), 13.6 / 23.6, 1e-9);
  EXPECT_NEAR(of(a.bound, Resource::host), 5 / 23.6, 1e-9);
  EXPECT_NEAR(of(a.saved, Resource::host), 2.5 / 23.6, 1e-9);
}

TEST(StepAccount, LaunchingDecidesAllOfAStepThatWaitsForIt) {
  // More tokens than captured. Launches of 100 s each are longer than whatever the kernels do meanwhile.
  KernelProfile p = ideal_profile();
  p.captured_tokens = 1;
  p.launch.kernel_s.value = 100;
  const StepTimer timer = tiny_timer(p);
  const StepAccount a = account(timer, decodes(2));
  EXPECT_TRUE(a.launched_for_size);
  EXPECT_NEAR(of(a.bound, Resource::launches), 1, 1e-9);
  EXPECT_NEAR(of(a.saved, Resource::launches), 0.5, 1e-9);
  EXPECT_EQ(of(a.saved, Resource::hbm_bandwidth), 0) << "hidden behind the launches";
  EXPECT_FALSE(account(timer, decodes(1)).launched_for_size);
}

TEST(StepAccount, CollectivesAreCounted) {
  const StepTimer timer = tiny_timer(ideal_profile(), tiny_model(), 2);
  const StepTime t = timer.time(decodes(1));
  const StepAccount a = account(timer, decodes(1));
  EXPECT_NEAR(of(a.bound, Resource::collectives), t.collectives_s / t.total_s, 1e-9);
}

TEST(StepAccount, OfLikeStepsIsTheSameWhicheverCameFirst) {
  const StepTimer timer = tiny_timer(ideal_profile());
  StepWork w = decodes(4), like = decodes(4);
  w.decode.kv_bytes = 16 * (w.decode.pairs = 1000);
  like.decode.kv_bytes = 16 * (like.decode.pairs = 1010);
  StepAccounts accounts(timer);
  const StepAccount first = accounts.of(w);
  EXPECT_EQ(accounts.of(like).cell, first.cell);
  EXPECT_EQ(account(timer, like).saved, first.saved);
  w.decode.pairs *= 1.5;
  EXPECT_NE(accounts.of(w).cell, first.cell);
}

/// Decoding with a mixture of experts on B200, whose kernels each say that arithmetic takes longer than streaming.
TEST(StepAccount, DecodingAMixtureOfExpertsIsBoundByBandwidth) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("b200");
  const LlmSpec model = catalogue.model("minimax-m2.5");
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(gpu.profile), model, 4);
  StepWork w = decodes(64);
  w.decode.pairs = 64 * 6000;
  w.decode.kv_bytes = w.decode.pairs * static_cast<double>(model.kv_bytes_per_token());
  const StepAccount a = account(timer, w);
  for (const Resource other : {Resource::compute, Resource::collectives, Resource::launches, Resource::host}) {
    EXPECT_GT(of(a.bound, Resource::hbm_bandwidth), of(a.bound, other));
  }
  EXPECT_GT(of(a.saved, Resource::hbm_bandwidth), of(a.saved, Resource::compute));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
