// The benchmarks, one function each. They throw CudaError, WrongResult (with the shape) or Interrupted.
#pragma once

#include <string>

#include "tools/calibrate/cuda/session.h"
#include "tools/calibrate/host/output.h"

namespace kvsim::calibrate {

CsvFile bench_launch(Session& session);
CsvFile bench_memory(Session& session);
CsvFile bench_transfer(Session& session);
CsvFile bench_gather(Session& session);
CsvFile bench_linear(Session& session);
CsvFile bench_experts(Session& session);
CsvFile bench_decode_attention(Session& session);
CsvFile bench_uneven_attention(Session& session);
CsvFile bench_verify_attention(Session& session);
CsvFile bench_quantised_attention(Session& session);
CsvFile bench_prefill_attention(Session& session);
CsvFile bench_latent_attention(Session& session);
CsvFile bench_collectives(Session& session);
CsvFile bench_quantise(Session& session);
CsvFile bench_topk(Session& session);
CsvFile bench_interference(Session& session);

/// Files of the replay, for a simulator to redo it: `parameters` is replay.yaml.
struct ReplayFiles {
  CsvFile iterations;
  std::string parameters;
};
ReplayFiles bench_replay(Session& session);

}  // namespace kvsim::calibrate
