// kvsim sweep: one scenario at many points, saved as they finish.
#include "models/schema/error.h"
#include "tools/cli/command.h"
#include "tools/cli/sweep_run.h"

namespace kvsim::cli {
namespace sweep_internal {
namespace {

void check_usage(const SweepOptions& o) {
  const auto refuse = [](const char* message) { throw schema::InputError(message); };
  if (o.json && o.csv) refuse("--json and --csv: expected one of the two");
  if (!o.merged.empty()) {
    if (!o.scenario.empty() || !o.vary.empty() || !o.points.empty() || !o.sample.empty() || !o.shard.empty() ||
        !o.set.empty() || o.seed || o.replications || o.resume) {
      refuse(
          "--merge puts finished shards together: expected their folders, --out, and nothing that changes the sweep");
    }
    return;
  }
  if (o.scenario.empty()) refuse("SCENARIO is required (kvsim sweep --help says more)");
  if (o.vary.empty() == o.points.empty()) {
    refuse("expected what to sweep: --vary PATH=VALUES, or --points FILE.csv, one of the two");
  }
  if (!o.sample.empty() && !o.points.empty()) refuse("--sample draws points from --vary, not from --points");
  if (o.resume && o.out.empty()) refuse("--resume goes on with the sweep in a folder: name it with --out");
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<SweepOptions>();
  app.add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->type_name("FILE");
  app.add_option("--vary", options->vary,
                 "A key and its values; repeatable. VALUES is a list 0.1,0.2,0.4, a\n"
                 "range with both ends 5:60:5 or 16k tokens:64k tokens:16k tokens, a\n"
                 "range with a factor 1:64:*2, or, to sample from, 0.1:0.9")
      ->type_name("A.B.C=VALUES")
      ->allow_extra_args(false);
  app.add_option("--sample", options->sample, "N points of a Latin hypercube in place of the full grid")
      ->type_name("lhs:N");
  app.add_option("--points", options->points, "CSV file with a header of keys and a row a point, in place of --vary")
      ->type_name("FILE");
  declare_simulation_options(app, *options);
  app.add_option("--out", options->out,
                 "Folder for sweep.csv, sweep.json, resolved.yaml, and for\npoints.jsonl, where points are saved as "
                 "they finish")
      ->type_name("DIR");
  app.add_flag("--resume", options->resume, "Go on with the sweep in --out");
  app.add_option("--shard", options->shard, "Only every n-th point, from the k-th on")->type_name("k/n");
  app.add_option("--merge", options->merged, "Put the shards in these folders together")->type_name("DIR");
  app.add_option("--metric", options->metric,
                 "Figure that ranks points, by its path in the JSON result;\nthroughput.output_tokens_per_s by default")
      ->type_name("PATH");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.add_flag("--csv", options->csv, "Print CSV, a row a point");
  return [options](Console& console) {
    check_usage(*options);
    if (options->merged.empty()) {
      run_sweep(console, *options);
    } else {
      merge_sweeps(console, *options);
    }
  };
}

}  // namespace
}  // namespace sweep_internal

extern const Command sweep_command;
const Command sweep_command{"sweep", "Simulate a scenario at many points of its keys",
                            "kvsim sweep scenarios/long_context/headline.yaml --vary decode.draft_length=10:40:10 \\\n"
                            "    --vary decode.keep_ratio=0.1,0.2,0.4 --replications 3 --out results",
                            sweep_internal::declare};

}  // namespace kvsim::cli
