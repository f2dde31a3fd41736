// NVIDIA's collectives as they are called, on a library of our own over host memory, and what they are checked with.
#include "tools/calibrate/host/nccl.h"

#include <gtest/gtest.h>

#include <vector>

#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/kernels/bf16.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

TEST(Nccl, EveryCollectiveGivesEachRankWhatItsCheckExpects) {
  std::string why;
  const auto nccl = Nccl::open(why, KVSIM_FAKE_NCCL);
  ASSERT_TRUE(nccl) << why;
  EXPECT_EQ(nccl->version(), "2.27.3");
  constexpr int kGpus = 4;
  constexpr std::uint64_t kSeed = 5;
  const Nccl::Group group(*nccl, kGpus);
  for (const auto operation : {models::Collective::all_reduce, models::Collective::all_gather,
                               models::Collective::reduce_scatter, models::Collective::all_to_all}) {
    const CollectiveCase c{operation, kGpus, 64};
    const auto count = static_cast<std::size_t>(c.elements);
    std::vector<std::vector<Bf16>> sent(kGpus), received(kGpus, std::vector<Bf16>(count, 0x7fff));
    for (std::uint64_t rank = 0; rank < kGpus; ++rank) {
      for (std::uint64_t i = 0; i < count; ++i) sent[rank].push_back(to_bf16(random_value(kSeed + rank, i)));
    }
    for (int rank = 0; rank < kGpus; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      group.run(operation, rank, sent[r].data(), received[r].data(), count, nullptr);
    }
    const std::size_t got = operation == models::Collective::reduce_scatter ? count / kGpus : count;
    for (int rank = 0; rank < kGpus; ++rank) {
      for (std::size_t i = 0; i < got; ++i) {
        const double expected = collective_element(c, rank, static_cast<std::int64_t>(i), kSeed);
        const double value = static_cast<double>(from_bf16(received[static_cast<std::size_t>(rank)][i]));
        EXPECT_NEAR(value, expected, 0.03) << models::word(operation) << ", rank " << rank << ", element " << i;
      }
    }
  }
}

TEST(Nccl, IsNotNeeded) {
  std::string why;
  EXPECT_FALSE(Nccl::open(why, "libno-such-library.so.2"));
  EXPECT_NE(why.find("libno-such-library.so.2 is not there"), std::string::npos) << why;
  EXPECT_FALSE(Nccl::open(why, KVSIM_FAKE_NVML));
  EXPECT_NE(why.find("lacks functions"), std::string::npos) << why;
}

TEST(CollectiveCases, AreOfEveryGroupThatTheMachineHolds) {
  EXPECT_TRUE(collective_cases(1, false).empty());
  for (const CollectiveCase& c : collective_cases(6, false)) {
    EXPECT_TRUE(c.gpus == 2 || c.gpus == 4);
    EXPECT_EQ(c.elements % c.gpus, 0);
  }
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
