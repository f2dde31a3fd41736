// Forms by engine as they ship.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/catalogue/catalogue.h"
#include "models/kernels/engine_kernels.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

// Parts exist, are of the kernels they stand for, and of the architecture of the profile that takes them.
TEST(EngineKernels, OfTheCatalogueAreWhatTheySay) {
  const Catalogue catalogue = Catalogue::built_in();
  std::size_t parts = 0;
  for (const auto& line : catalogue.list(EntryKind::profile)) {
    const KernelProfile profile = catalogue.profile(line.name);
    for (const EngineKernels& of : profile.by_engine) {
      const KernelProfile p = catalogue.profile(of.profile);
      ++parts;
      ASSERT_TRUE(p.machine && profile.machine) << line.name;
      EXPECT_EQ(p.machine->architecture, profile.machine->architecture) << line.name << " " << of.profile;
      EXPECT_FALSE(p.fitted.linear.empty()) << of.profile;
      const auto named = [&of](const auto& forms) {
        return std::all_of(forms.begin(), forms.end(), [&of](const auto& f) { return f.kernels == of.kernels; });
      };
      EXPECT_TRUE(named(p.fitted.linear) && named(p.fitted.decode_attention) && named(p.fitted.prefill_attention))
          << of.profile;
    }
  }
  EXPECT_GT(parts, 0U);
  for (const char* engine : {"vllm", "vllm-0.19", "sglang", "trtllm"}) {
    EXPECT_FALSE(catalogue.engine(engine).kernels.empty()) << engine;
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
