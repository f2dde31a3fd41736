// Draft and verify, iteration by iteration, with reloads on a stream of their own.
#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/cuda/replay_engine.h"

namespace kvsim::calibrate {
namespace {

constexpr int kRuns = 3;  ///< recorded, after one that is not

struct Marks {
  Event begin, end, reload_begin, reload_end;
};

/// One pass through the schedule, up to its end.
void run_once(const ReplayEngine& engine, const ReplaySchedule& schedule, const Stream& compute, const Stream& copies,
              const Event& start, const std::vector<Marks>& marks) {
  hold(compute);
  start.record(compute);
  copies.wait_for(start.get());
  const int lead = schedule.parameters.reload_iterations;
  for (std::size_t t = 0; t < schedule.iterations.size(); ++t) {
    const ReplayIteration& now = schedule.iterations[t];
    if (!now.reloads.empty()) {
      if (t > 0) copies.wait_for(marks[t - 1].end.get());  // slots may have been read until then
      marks[t].reload_begin.record(copies);
      for (const Reload& reload : now.reloads) engine.reload(reload.slot, copies);
      marks[t].reload_end.record(copies);
    }
    if (!now.verifying.empty()) compute.wait_for(marks[t - static_cast<std::size_t>(lead)].reload_end.get());
    marks[t].begin.record(compute);
    engine.forward(static_cast<int>(t), compute);
    marks[t].end.record(compute);
  }
  compute.synchronise();
  copies.synchronise();
}

void record(const Session& session, const ReplaySchedule& schedule, std::int64_t reload_bytes, int run,
            const Event& start, const std::vector<Marks>& marks, CsvFile& file) {
  for (std::size_t t = 0; t < schedule.iterations.size(); ++t) {
    const ReplayIteration& now = schedule.iterations[t];
    CsvRow row(session.gpu, session.version, name_of(schedule.parameters.kind), run, t, marks[t].begin.ms_since(start),
               marks[t].end.ms_since(start), now.drafting.size(), now.verifying.size(),
               now.tokens(schedule.parameters.draft_length),
               reload_bytes * static_cast<std::int64_t>(now.reloads.size()));
    if (now.reloads.empty()) {
      row.add("");
      row.add("");
    } else {
      row.add(marks[t].reload_begin.ms_since(start));
      row.add(marks[t].reload_end.ms_since(start));
    }
    file.add(row);
  }
}

}  // namespace

ReplayFiles bench_replay(Session& session) {
  CsvFile file({"gpu", "version", "schedule", "run", "iteration", "begin_ms", "end_ms", "drafting", "verifying",
                "linear_tokens", "reload_bytes", "reload_begin_ms", "reload_end_ms"});
  ReplayParameters parameters;
  if (session.arguments.quick) parameters.rounds = 2;
  ReplaySchedule schedules[2];
  for (const ReplayKind kind : {ReplayKind::lock_step, ReplayKind::staggered}) {
    parameters.kind = kind;
    schedules[kind == ReplayKind::staggered] = replay_schedule(parameters);
  }
  const int slots = std::max(schedules[0].slots, schedules[1].slots);
  ReplaySize size = replay_size(session.models, session.arguments.quick);
  const std::int64_t wanted = size.layers;
  // A tenth is left for activations, partial results and cuBLAS's workspace.
  size.layers =
      layers_that_fit(size, parameters.requests, slots, static_cast<std::int64_t>(session.usable_bytes() / 10 * 9),
                      static_cast<std::int64_t>(Session::usable_host_bytes()));
  if (size.layers == 0) throw std::runtime_error("not even one layer of " + size.model + " fits into memory");
  if (size.layers < wanted) session.note("replay", fmt::format("{} of {} layers fit into memory", size.layers, wanted));

  ReplayEngine engine(session, size, parameters.requests, slots);
  const Event start;
  for (const ReplaySchedule& schedule : schedules) {
    engine.prepare(schedule);
    engine.spoil(session.timer.stream());
    session.timer.stream().synchronise();
    const std::vector<Marks> marks(schedule.iterations.size());
    for (int run = 0; run <= kRuns; ++run) {
      stop_if_interrupted();
      run_once(engine, schedule, session.timer.stream(), session.timer.other_stream(), start, marks);
      if (run == 0) engine.verify();
      if (run > 0) record(session, schedule, size.full_kv_bytes(), run, start, marks, file);
    }
  }
  return {file, replay_yaml(size, parameters, schedules[0].slots, schedules[1].slots)};
}

}  // namespace kvsim::calibrate
