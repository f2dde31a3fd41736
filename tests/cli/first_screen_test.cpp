// First screens: the answer in at most 25 lines, and the name of everything that --details adds.
#include <algorithm>
#include <set>
#include <sstream>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Words = std::vector<std::string>;

/// Titles of tables and lists: lines without an indent after an empty one.
std::set<std::string> titles_of(const std::string& page) {
  std::set<std::string> titles;
  std::istringstream lines(page);
  bool after_empty = false;
  for (std::string line; std::getline(lines, line); after_empty = line.empty()) {
    if (after_empty && !line.empty() && line.front() != ' ') titles.insert(line);
  }
  return titles;
}

/// Words of a text, whatever lines they stand on.
std::string joined(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

class FirstScreenTest : public Workspace, public ::testing::WithParamInterface<Words> {};

TEST_P(FirstScreenTest, HasTheAnswerAndNamesTheRest) {
  write("s.yaml", tiny_scenario());
  write("p.yaml", placement_scenario());
  write("c.yaml", chunk_scenario());
  Words details = GetParam();
  details.emplace_back("--details");
  const CommandResult first = run(GetParam()), all = run(details);
  ASSERT_EQ(first.status, 0) << first.err;
  ASSERT_EQ(all.status, 0) << all.err;
  EXPECT_LE(std::count(first.out.begin(), first.out.end(), '\n'), 25) << first.out;
  const std::size_t more = first.out.find("More with --details: ");
  ASSERT_NE(more, std::string::npos) << first.out;
  const std::set<std::string> shown = titles_of(first.out);
  const std::string named = joined(first.out.substr(more));
  for (const std::string& title : titles_of(all.out)) {
    const std::string name = joined(title.substr(0, title.find_first_of(":,")));
    EXPECT_TRUE(shown.contains(title) || named.find(name) != std::string::npos) << title << "\n" << first.out;
  }
  EXPECT_EQ(all.out.find("--details"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Commands, FirstScreenTest,
                         ::testing::Values(Words{"run", "s.yaml"}, Words{"run", "p.yaml"}, Words{"run", "c.yaml"},
                                           Words{"compare", "s.yaml"}, Words{"compare", "p.yaml"},
                                           Words{"compare", "c.yaml"}, Words{"plan", "s.yaml"},
                                           Words{"reproduce", "evicpress/fig2"},
                                           Words{"reproduce", "evicpress/fig2", "vericache/fig2"},
                                           Words{"reproduce", "evicpress/fig1", "evicpress/fig2", "evicpress/fig6",
                                                 "evicpress/table1", "evicpress/table2", "specache/fig1",
                                                 "specache/fig3", "specache/fig4", "specache/table1", "specache/table2",
                                                 "specache/table3", "specache/table5", "vericache/fig2"},
                                           Words{"sweep", "s.yaml", "--vary", "decode.draft_length=1:20:1"}));

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
