#include "tests/cli/workspace.h"

namespace kvsim::test {
namespace {

class CompletionTest : public Workspace {
 protected:
  /// What bash offers for the last of these words.
  std::string offered(const std::string& words, int last) {
    const std::string script = "kvsim() { \"$KVSIM\" \"$@\"; }; . <(\"$KVSIM\" completion bash); COMP_WORDS=(kvsim " +
                               words + "); COMP_CWORD=" + std::to_string(last) + "; _kvsim; echo \"${COMPREPLY[*]}\"";
    return Child({"/bin/bash", "-c", script}).wait().out;
  }
};

TEST_F(CompletionTest, CompletesCommandsOptionsKindsAndNames) {
  EXPECT_EQ(offered("comp", 1), "compare completion\n");
  EXPECT_EQ(offered("run --rep", 2), "--replications\n");
  EXPECT_EQ(offered("compare x.yaml --pol", 3), "--policies\n");
  EXPECT_EQ(offered("list comp", 2), "compressors\n");
  EXPECT_EQ(offered("workload in", 2), "info\n");
  EXPECT_EQ(offered("validate --group draft", 3), "draft-verify\n");
  EXPECT_EQ(offered("show llama-3.1-7", 2), "llama-3.1-70b\n");
}

}  // namespace
}  // namespace kvsim::test
