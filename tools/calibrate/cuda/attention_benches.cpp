// The benchmarks of attention: one file each, the same kernels.
#include "tools/calibrate/cuda/attention_runner.h"
#include "tools/calibrate/cuda/benches.h"

namespace kvsim::calibrate {
namespace {

using Columns = std::vector<std::string>;

/// The columns that published tables have, and those of a benchmark behind them. `length` is the name of the last one.
Columns columns_with(const char* length, const Columns& more) {
  Columns columns = with_spread(
      {"gpu", "framework", "version", "kernel", "num_heads", "num_kv_heads", "head_dim", "kv_dtype", "batch", length});
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

CsvFile run(Session& session, const std::string& name, const std::vector<AttentionCase>& cases, const char* length,
            const Columns& more, const std::function<void(CsvRow&, const AttentionCase&)>& add_more) {
  CsvFile file(columns_with(length, more));
  AttentionRunner runner(session);
  session.run_cases(name, cases, [&](const AttentionCase& c) {
    Spread spread;
    if (!runner.measure(c, spread)) return false;
    CsvRow row(session.gpu, "kvsim", session.version, kernel_name(session.device, c), c.shape.heads, c.shape.kv_heads,
               c.shape.head_dim, kv_dtype_of(c), c.batch, c.kv_len, spread);
    add_more(row, c);
    file.add(row);
    return true;
  });
  return file;
}

void nothing_more(CsvRow& /*row*/, const AttentionCase& /*c*/) {}

}  // namespace

CsvFile bench_decode_attention(Session& session) {
  return run(session, "decode_attention", decode_cases(session.models, session.arguments.quick), "kv_len", {},
             nothing_more);
}

CsvFile bench_uneven_attention(Session& session) {
  return run(session, "uneven_attention", uneven_cases(session.models, session.arguments.quick), "kv_len",
             {"lengths", "longest_kv_len"}, [](CsvRow& row, const AttentionCase& c) {
               const std::vector<int> lengths = lengths_of(c);
               row.add(name_of(c.lengths));
               row.add(*std::max_element(lengths.begin(), lengths.end()));
             });
}

CsvFile bench_verify_attention(Session& session) {
  return run(session, "verify_attention", verify_cases(session.models, session.arguments.quick), "kv_len",
             {"query_tokens"}, [](CsvRow& row, const AttentionCase& c) { row.add(c.query_tokens); });
}

CsvFile bench_quantised_attention(Session& session) {
  return run(session, "quantised_attention", quantised_cases(session.models, session.arguments.quick), "kv_len",
             {"kv_bits", "group", "kv_bytes_read", "key_scales"}, [](CsvRow& row, const AttentionCase& c) {
               row.add(c.kv_bits);
               row.add(c.kv_bits >= 8 ? 0 : kGroup);
               row.add(kv_bytes_read(c));
               row.add(key_scales_of(c));
             });
}

CsvFile bench_prefill_attention(Session& session) {
  return run(session, "prefill_attention", prefill_cases(session.models, session.arguments.quick), "seq_len", {},
             nothing_more);
}

CsvFile bench_latent_attention(Session& session) {
  CsvFile file(with_spread({"gpu", "framework", "version", "kernel", "phase", "num_heads", "attention_dtype",
                            "kv_dtype", "batch", "length"}));
  AttentionRunner runner(session);
  session.run_cases("latent_attention", latent_cases(session.models, session.arguments.quick),
                    [&](const AttentionCase& c) {
                      Spread spread;
                      if (!runner.measure(c, spread)) return false;
                      file.add(CsvRow(session.gpu, "kvsim", session.version, kernel_name(session.device, c),
                                      shares_pool(c) ? "decode" : "prefill", c.shape.heads, "bfloat16", kv_dtype_of(c),
                                      c.batch, c.kv_len, spread));
                      return true;
                    });
  return file;
}

}  // namespace kvsim::calibrate
