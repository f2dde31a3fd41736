// kvsim completion: what shells offer, asked of the shells themselves where they are installed.
#include <iostream>
#include <sstream>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

class CompletionTest : public Workspace {
 protected:
  /// What bash offers for the last word of a line, and how it was told to go on (compopt).
  std::string offered(const std::string& line) {
    const std::string script =
        ". <(\"$KVSIM\" completion bash); kvsim() { \"$KVSIM\" \"$@\"; }; compopt() { echo \"$*\"; }; COMP_LINE=\"" +
        line + "\"; COMP_POINT=${#COMP_LINE}; _kvsim; echo \"${COMPREPLY[*]}\"";
    return Child({"/bin/bash", "-c", script}, {"", folder()}).wait().out;
  }

  std::string script(const std::string& of) {
    const CommandResult r = run({"completion", of});
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  }

  static bool installed(const std::string& program) { return shell("command -v " + program).status == 0; }
};

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string w; words >> w;) {
    if (w == word) return true;
  }
  return false;
}

TEST_F(CompletionTest, BashCompletesCommandsOptionsKindsAndNames) {
  EXPECT_EQ(offered("kvsim comp"), "compare completion\n");
  EXPECT_EQ(offered("kvsim run --rep"), "--replications\n");
  EXPECT_EQ(offered("kvsim compare x.yaml --pol"), "--policies\n");
  EXPECT_EQ(offered("kvsim list comp"), "compressors\n");
  EXPECT_EQ(offered("kvsim workload in"), "info\n");
  EXPECT_EQ(offered("kvsim workload info --curve --pre"), "--prefill\n");
  EXPECT_EQ(offered("kvsim validate --group draft"), "draft-verify\n");
  EXPECT_EQ(offered("kvsim show llama-3.1-7"), "llama-3.1-70b\n");
  EXPECT_EQ(offered("kvsim show ste"), "step\n");
  EXPECT_EQ(offered("kvsim show kvzip ste"), "\n");
  EXPECT_EQ(offered("kvsim show step x.yaml --conte"), "--context\n");
  EXPECT_EQ(offered("kvsim plan --export lm"), "lmcache\n");
  EXPECT_EQ(offered("kvsim plan --draft-table --see"), "\n");
  EXPECT_EQ(offered("kvsim plan x.yaml --simulate --see"), "--seed\n");
  EXPECT_EQ(offered("kvsim completion z"), "zsh\n");
  EXPECT_EQ(offered("kvsim schema "), "--help --results --markdown\n");
}

TEST_F(CompletionTest, BashCompletesValuesOfListsAndAfterEqualsSignsAndColons) {
  EXPECT_EQ(
      offered("kvsim compare x.yaml --policies full_kv,loss"),
      "-o nospace\nfull_kv,lossy full_kv,lossy+drafter full_kv,lossy:mix full_kv,lossy:local full_kv,lossy:remote "
      "full_kv,lossy+drafter:mix full_kv,lossy+drafter:local full_kv,lossy+drafter:remote\n");
  EXPECT_EQ(offered("kvsim compare x.yaml --policies=los"),
            "-o nospace\nlossy lossy+drafter lossy:mix lossy:local lossy:remote lossy+drafter:mix lossy+drafter:local "
            "lossy+drafter:remote\n");
  // readline has replaced up to the colon: what follows it remains to be typed.
  EXPECT_EQ(offered("kvsim compare x.yaml --policies draft_verify:lock"), "-o nospace\nlock_step\n");
  EXPECT_EQ(offered("kvsim capacity x.yaml --machines h100-sxm,h20"), "-o nospace\nh100-sxm,h20 h100-sxm,h200\n");
  EXPECT_EQ(offered("kvsim workload info t --policies belad"), "-o nospace\nbelady\n");
  EXPECT_EQ(offered("kvsim run x.yaml --seed "), "\n");  // any number
}

TEST_F(CompletionTest, BashCompletesTheKeysOfAScenario) {
  EXPECT_EQ(offered("kvsim run x.yaml --set decode.keep"), "-o nospace\ndecode.keep_ratio=\n");
  EXPECT_EQ(offered("kvsim sweep x.yaml --vary cluster.gpu.tensor"), "-o nospace\ncluster.gpu.tensor_parallel=\n");
  EXPECT_EQ(offered("kvsim run x.yaml --set decode.keep_ratio=0."), "\n");
  // What is offered is a key: setting it to nonsense is refused for its value.
  const std::string keys = offered("kvsim run x.yaml --set ");
  write("s.yaml", tiny_scenario());
  std::size_t number = 0;
  std::istringstream words(keys.substr(keys.find('\n') + 1));
  for (std::string key; words >> key; ++number) {
    if (number % 10 != 0) continue;  // a run each
    const CommandResult r = run({"check", "s.yaml", "--set", key + "[[1]]"});
    EXPECT_EQ(r.err.find("unknown key"), std::string::npos) << key << r.err;
  }
  EXPECT_GT(number, 80U);
}

TEST_F(CompletionTest, BashCompletesTheValuesOfKeys) {
  EXPECT_EQ(offered("kvsim run x.yaml --set decode.policy=loss"), "lossy lossy+drafter\n");
  EXPECT_EQ(offered("kvsim run x.yaml --set prefill=sel"), "selective\n");  // the short form of prefill.policy
  EXPECT_EQ(offered("kvsim run x.yaml --set=cluster.gpu.type=h20"), "h20 h200\n");
  EXPECT_EQ(offered("kvsim run x.yaml --set schedule.asynchronous="), "true false\n");
  EXPECT_EQ(offered("kvsim sweep x.yaml --vary decode.policy=full_kv,loss"), "full_kv,lossy full_kv,lossy+drafter\n");
  EXPECT_EQ(offered("kvsim run x.yaml --set decode.polcy="), "\n");
  std::istringstream keys(run({"__complete", "bash", "run", "x.yaml", "--set", ""}).out);
  for (std::string key; std::getline(keys, key);) {
    EXPECT_EQ(run({"__complete", "fish", "run", "x.yaml", "--set", key}).status, 0) << key;
  }
}

TEST_F(CompletionTest, PlanOffersTheOptionsOfItsModes) {
  const auto offers = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {"__complete", "bash", "plan"});
    words.emplace_back("--");
    return run(words).out;
  };
  EXPECT_EQ(offers({"--paths", "x"}), "--help\n--lp-out\n--jobs\n--out\n--json\n--details\n");
  EXPECT_EQ(offers({"--symbols", "x", "--json"}), "--help\n--model\n--jobs\n--out\n--details\n--timing\n");
  const std::string scenario = offers({"x.yaml"});
  EXPECT_TRUE(has_word(scenario, "--pareto") && has_word(scenario, "--hit-rate")) << scenario;
  EXPECT_FALSE(has_word(scenario, "--lp-out") || has_word(scenario, "--symbols")) << scenario;
  EXPECT_FALSE(has_word(offers({"x.yaml", "--hit-rate", "1"}), "--pareto"));
  // A scenario does not go with a file of symbols.
  EXPECT_EQ(run({"__complete", "bash", "plan", ""}).out, ":files\n");
  EXPECT_EQ(run({"__complete", "bash", "plan", "--paths", "x", ""}).out, offers({"--paths", "x"}));
}

TEST_F(CompletionTest, BashLeavesFilesAndFoldersToReadline) {
  EXPECT_EQ(offered("kvsim run sce"), "-o default\n\n");
  EXPECT_EQ(offered("kvsim run x.yaml --trace-out t"), "-o default\n\n");
  EXPECT_EQ(offered("kvsim run x.yaml --out=r"), "-o dirnames\n\n");
}

TEST_F(CompletionTest, EveryScriptIsAcceptedByItsShell) {
  for (const char* of : {"bash", "zsh", "fish"}) {
    write(std::string("k.") + of, script(of));
    if (!installed(of)) {
      std::cerr << of << " is not installed: syntax not checked\n";
      continue;
    }
    const CommandResult r = shell(std::string(of) + " -n k." + of, {"", folder()});
    EXPECT_EQ(r.status, 0) << of;
    EXPECT_EQ(r.err, "") << of;
  }
  EXPECT_EQ(run({"completion", "tcsh"}).err,
            "kvsim: no completion for shell \"tcsh\"; expected one of bash, zsh, fish\n");
}

TEST_F(CompletionTest, ShellsThatShowDescriptionsGetThem) {
  const auto offers = [this](std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    return run(words).out;
  };
  EXPECT_EQ(offers({"fish", "comp"}),
            "compare\tSimulate a scenario under several policies\n"
            "completion\tPrint a script that completes kvsim's arguments in a shell\n");
  EXPECT_EQ(offers({"zsh", "run", "--repl"}),
            "--replications:Runs with seeds seed, seed + 1, ... (run.replications)\n");
  EXPECT_EQ(offers({"zsh", "compare", "x", "--policies=full_kv,draft_verify:lo"}),
            ":nospace\n--policies=full_kv,draft_verify\\:lock_step\n");
  EXPECT_TRUE(offers({"fish", "show", "llama-3.1-7"}).starts_with("llama-3.1-70b\t"));
  EXPECT_TRUE(has_word(offers({"fish", "capacity", "x", "--slo", ""}), "ttft_p99="));
}

TEST_F(CompletionTest, OffersWhatMayStillFollow) {
  const auto offers = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {"__complete", "bash"});
    return run(words).out;
  };
  // An option that was given and may not be repeated is not offered again, nor a file once every place is taken.
  EXPECT_FALSE(has_word(offers({"run", "--seed", "3", "--"}), "--seed"));
  EXPECT_TRUE(has_word(offers({"run", "--set", "a=1", "--"}), "--set"));
  EXPECT_EQ(offers({"check", "x.yaml", ""}), "--help\n--full\n--set\n");
  EXPECT_EQ(offers({"report", ""}), ":files\n");
  EXPECT_EQ(offers({"run", "--out", ""}), ":folders\n");
  // Words that mean something to the program itself are only looked at.
  EXPECT_EQ(offers({"--version", "comp"}), "compare\ncompletion\n");
  EXPECT_EQ(offers({"nonsense", "--nonsense", ""}), offers({""}));
}

TEST_F(CompletionTest, AskingIsNoCommandThatUsersSee) {
  EXPECT_EQ(run({"--help"}).out.find("__complete"), std::string::npos);
  EXPECT_EQ(run({"man"}).out.find("__complete"), std::string::npos);
  EXPECT_EQ(run({"__complete", "tcsh", ""}).status, 2);
  EXPECT_EQ(run({"__complete"}).err, "kvsim: no completion for shell \"\"; expected one of bash, zsh, fish\n");
}

TEST_F(CompletionTest, FishOffersTheSame) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  write("k.fish", script("fish"));
  const auto offers = [this](const std::string& line) {
    return shell(
               "ln -sf \"$KVSIM\" kvsim; HOME=$PWD PATH=$PWD:$PATH fish --no-config -c 'source k.fish; complete -C \"" +
                   line + "\"'",
               {"", folder()})
        .out;
  };
  EXPECT_EQ(offers("kvsim comp"),
            "compare\tSimulate a scenario under several policies\n"
            "completion\tPrint a script that completes kvsim's arguments in a shell\n");
  EXPECT_EQ(offers("kvsim run --rep"), "--replications\tRuns with seeds seed, seed + 1, ... (run.replications)\n");
  EXPECT_TRUE(offers("kvsim list comp").starts_with("compressors\t"));
  EXPECT_TRUE(offers("kvsim workload in").starts_with("info\t"));
  EXPECT_TRUE(has_word(offers("kvsim run x.yaml --set decode.keep"), "decode.keep_ratio="));
  EXPECT_TRUE(has_word(offers("kvsim compare x.yaml --policies full_kv,loss"), "full_kv,lossy"));
  EXPECT_TRUE(has_word(offers("kvsim plan --model cons"), "conserving"));
  EXPECT_TRUE(has_word(offers("kvsim run k.f"), "k.fish"));
  EXPECT_TRUE(has_word(offers("kvsim show llama-3.1-7"), "llama-3.1-70b"));
}

TEST_F(CompletionTest, ZshOffersTheSame) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  write("_kvsim", script("zsh"));
  // A terminal of its own (zpty) in which Tab is pressed and what then stands in the line is read back.
  write("ask.zsh", R"(zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($PWD \$fpath); autoload -U compinit; compinit -u -D; LISTMAX=0"
zpty -w shell 'bindkey "^I" complete-word; setopt no_auto_list no_list_beep'
zpty -w shell 'show() { print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N show; bindkey "^O" show; print ready'
zpty -r shell out '*ready*ready*'
zpty -w -n shell "$1"$'\t\x0f'
zpty -r shell out '*<<*>>*'
out=${out##*<<}; print -r -- "${out%%>>*}"
)");
  const auto completed = [this](const std::string& line) {
    return shell(
               "ln -sf \"$KVSIM\" kvsim; HOME=$PWD PATH=$PWD:$PATH TERM=xterm timeout 20 zsh -f ask.zsh '" + line + "'",
               {"", folder()})
        .out;
  };
  EXPECT_EQ(completed("kvsim compa"), "kvsim compare \n");
  EXPECT_EQ(completed("kvsim run --repl"), "kvsim run --replications \n");
  EXPECT_EQ(completed("kvsim workload in"), "kvsim workload info \n");
  EXPECT_EQ(completed("kvsim list comp"), "kvsim list compressors \n");
  EXPECT_EQ(completed("kvsim show llama-3.1-7"), "kvsim show llama-3.1-70b \n");
  EXPECT_EQ(completed("kvsim plan --model cons"), "kvsim plan --model conserving \n");
  EXPECT_EQ(completed("kvsim run x.yaml --set decode.keep_r"), "kvsim run x.yaml --set decode.keep_ratio=\n");
  EXPECT_EQ(completed("kvsim compare x --policies full_kv,draft_verify:lock"),
            "kvsim compare x --policies full_kv,draft_verify:lock_step\n");
  EXPECT_EQ(completed("kvsim run ask"), "kvsim run ask.zsh \n");
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
