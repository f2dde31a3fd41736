// A folder with the small scenario, and a sweep of six points over it.
#pragma once

#include <string>
#include <vector>

#include "tests/cli/workspace.h"

namespace kvsim::test {

class SweepTest : public Workspace {
 protected:
  SweepTest() { write("s.yaml", tiny_scenario()); }

  /// The sweep that most tests make, with more options.
  CommandResult sweep(const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "sweep", "s.yaml", "--vary", "decode.draft_length=4:8:4", "--vary", "decode.keep_ratio=0.1,0.2,0.4"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  void expect_same_files(const std::string& a, const std::string& b) {
    for (const char* name : {"/sweep.csv", "/sweep.json", "/resolved.yaml"}) {
      EXPECT_FALSE(read(a + name).empty()) << a << name;
      EXPECT_EQ(read(a + name), read(b + name)) << name;
    }
  }

  std::string refusal(const std::vector<std::string>& words) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(r.out, "");
    return r.err;
  }
};

}  // namespace kvsim::test
