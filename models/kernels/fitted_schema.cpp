// The keys of fitted forms, each with the bounds that physics gives it.
#include "models/kernels/fitted_schema.h"

#include <fmt/format.h>

#include "models/hardware/gpu.h"

namespace kvsim::models {

schema::ScalarSpec kernel_efficiency() {
  // 5 % above the datasheet is within what clocks and rounding of the figures explain; more is a broken measurement.
  return schema::number()
      .above(0)
      .at_most(1.05)
      .usually(0.001, 1.05)
      .because("a kernel reaches some of its GPU's peak, and not more");
}

schema::ScalarSpec fixed_kernel_time() {
  return schema::time().non_negative().at_most(0.01).because(
      "a kernel's fixed time lies between nothing and 10 ms; those that were fitted are below 100 us");
}

schema::ScalarSpec cached_efficiency() {
  return schema::number().non_negative().at_most(20).because(
      "a cache delivers some ten times what memory does; those that were fitted are below 15");
}

schema::ObjectSchema<CachedStream> stream_schema() {
  using namespace schema;
  ObjectSchema<CachedStream> s("stream", "Bytes read from HBM, and from L2 while they fit there.");
  s.required("bandwidth_efficiency", &CachedStream::bandwidth_efficiency, kernel_efficiency(),
             "fraction of the peak memory bandwidth of reads from HBM");
  s.optional("l2_efficiency", &CachedStream::l2_efficiency, number().non_negative().at_most(50),
             "rate of reads that hit L2, as a multiple of the peak memory bandwidth; 0: none do");
  s.optional("l2_share", &CachedStream::l2_share, number().positive().at_most(100),
             "working set at which half of the reads hit, as a share of the L2 size");
  s.optional("l2_width", &CachedStream::l2_width, number().positive().at_most(10),
             "width of that transition in ln(bytes)");
  s.check([](const CachedStream& c, const Reporter& report) {
    if (c.l2_efficiency > 0 && c.l2_efficiency < c.bandwidth_efficiency) {
      report.fail("l2_efficiency", "below bandwidth_efficiency: a hit in L2 is not slower than a read from HBM");
    }
  });
  return s;
}

schema::ObjectSchema<FormError> form_error_schema() {
  using namespace schema;
  using E = FormError;
  ObjectSchema<E> s("error", "How far a fit is off its rows, |predicted / measured - 1|.");
  s.required("median", &E::median, number().non_negative(), "of all rows");
  s.required("p90", &E::p90, number().non_negative(), "the 90th percentile");
  s.optional("held_out", &E::held_out, boolean(), "each row by a fit to rows of other shapes; false: by one to all");
  s.optional("models_median", &E::models_median, number().non_negative(),
             "rows of all shapes of a catalogue model, by a fit to the others; left out: not known");
  s.optional("models_p90", &E::models_p90, number().non_negative(), "the 90th percentile of these");
  s.check([](const E& e, const Reporter& report) {
    if (e.p90 < e.median) report.fail("p90", fmt::format("{:g}, below the median of {:g}", e.p90, e.median));
  });
  return s;
}

schema::ObjectSchema<GemmTile> gemm_tile_schema() {
  using namespace schema;
  ObjectSchema<GemmTile> tile("tile", "A block of the output that one multiprocessor computes at a time.");
  tile.required("rows", &GemmTile::rows, number().at_least(1).at_most(4096), "tokens");
  tile.required("columns", &GemmTile::columns, number().at_least(1).at_most(4096), "outputs");
  tile.required("efficiency", &GemmTile::efficiency, kernel_efficiency(),
                "of one multiprocessor's share of the peak arithmetic rate");
  return tile;
}

namespace {

using namespace schema;

/// Adds the key of forms that an engine may have kernels of its own for.
template <class Form>
void add_kernels(ObjectSchema<Form>& s) {
  s.optional("kernels", &Form::kernels, text(), "whose kernels they are (sglang, trtllm); left out: vLLM's");
}

ScalarSpec share() {
  return number().at_least(0).at_most(1);
}

ObjectSchema<QuantiseForm> quantise_schema() {
  using Q = QuantiseForm;
  ObjectSchema<Q> s("quantise", "A pass over a linear layer's inputs that makes them as narrow as its weights.");
  s.required("t0", &Q::t0_s, fixed_kernel_time(), "fixed time of a call");
  s.required("per_token", &Q::per_token_s, fixed_kernel_time(), "least time of a token");
  s.required("bandwidth_efficiency", &Q::bandwidth_efficiency, number().above(0).at_most(50),
             "rate of what is read and written, as a multiple of the peak memory bandwidth (it mostly hits L2)");
  return s;
}

ObjectSchema<LinearBenchmark> benchmark_schema() {
  using B = LinearBenchmark;
  ObjectSchema<B> s("benchmark", "What a benchmark's rows hold that a model's steps do not.");
  s.optional("l2_efficiency", &B::l2_efficiency, number().non_negative().at_most(50),
             "rate of weights that hit L2, as a multiple of the peak memory bandwidth; 0: none do");
  s.optional("l2_share", &B::l2_share, number().positive().at_most(100),
             "repeated weights of which half hit, as a share of the L2 size");
  s.optional("l2_width", &B::l2_width, number().positive().at_most(10), "width of that transition in ln(bytes)");
  s.optional("launch", &B::launch_s, fixed_kernel_time(), "least time of a call that is launched and not replayed");
  s.optional("launch_few", &B::launch_few_s, fixed_kernel_time(), "the same of up to 16 tokens; 0: as of more");
  return s;
}

ScalarSpec multiprocessor_bandwidth() {
  return number().at_most(60).because(
      "a multiprocessor takes a few times its share of the bandwidth; those that were fitted are below 30");
}

ObjectSchema<SplitWalk> walk_schema() {
  using W = SplitWalk;
  ObjectSchema<W> s("walk", "How decode attention is spread over the multiprocessors.");
  s.required("sm_bandwidth", &W::sm_bandwidth, multiprocessor_bandwidth().positive(),
             "of one multiprocessor, as a multiple of its share of the bandwidth reached");
  s.required("efficiency", &W::efficiency, kernel_efficiency(), "of its share of the peak arithmetic rate in bf16");
  s.optional("wave_quantisation", &W::wave_quantisation, share(), "0: work is balanced, 1: whole waves");
  s.optional("unit", &W::unit_s, fixed_kernel_time(), "starting and ending one walk");
  s.optional("least_keys", &W::least_keys, number().at_least(1).at_most(1e6),
             "tokens of KV that are not split further");
  s.optional("blend_power", &W::blend_power, number().at_least(1).at_most(64),
             "how sharply the slower of the longest walk and all reading decides");
  s.optional("join", &W::join_s, fixed_kernel_time(), "joining the parts of a KV that was split, each");
  s.optional("regroup", &W::regroup_s, fixed_kernel_time(),
             "more where several requests' groups of heads are laid out anew");
  s.optional("splits_single_heads", &W::splits_single_heads, boolean(),
             "KV is split too where every query head has its own");
  return s;
}

ObjectSchema<Correction> attention_correction(const char* units) {
  return correction_schema({units, "kv_length", "head_dim", "group"});
}

ObjectSchema<LinearForm> linear_form_schema() {
  using F = LinearForm;
  ObjectSchema<F> s("fitted linear", "Linear layers: weights streamed against tiles in waves.");
  s.required("weights", &F::weights, weight_number_format(), "format of the weights");
  add_kernels(s);
  s.required("t0", &F::t0_s, fixed_kernel_time(), "fixed time of a call");
  s.required("bandwidth_efficiency", &F::bandwidth_efficiency, kernel_efficiency(), "of the peak memory bandwidth");
  s.optional("extra_input_bytes", &F::extra_input_bytes, number().non_negative().at_most(1000),
             "further traffic per input element, for example quantising activations");
  s.optional("tile_overhead_k", &F::tile_overhead_k, number().non_negative().at_most(100000),
             "filling and draining a tile, as a length of k");
  s.optional("wave_quantisation", &F::wave_quantisation, share(),
             "0: tiles spread evenly over the multiprocessors, 1: in whole waves");
  s.optional("blend_power", &F::blend_power, number().at_least(1).at_most(64),
             "how sharply the slower of streaming and arithmetic decides");
  s.optional("power_droop", &F::power_droop, number().at_least(0).at_most(1),
             "further share of arithmetic time per doubling of 1 + ideal time / 1 ms: clocks fall under load");
  s.optional("io_efficiency", &F::io_efficiency, cached_efficiency(),
             "rate of inputs and outputs, as a multiple of the peak memory bandwidth; 0: as the weights");
  s.optional("per_doubling", &F::per_doubling_s, fixed_kernel_time(), "more per doubling of 1 + inputs / 1024");
  s.optional("sm_bandwidth", &F::sm_bandwidth, multiprocessor_bandwidth().non_negative(),
             "of one multiprocessor, as a multiple of its share of the bandwidth reached; 0: no such bound");
  s.object("quantise", &F::quantise, quantise_schema(), Presence::optional, "quantising the inputs first");
  s.object("correction", &F::correction, correction_schema({"tokens", "n", "k"}), Presence::optional,
           "measured / form by region, for this architecture");
  s.object("benchmark", &F::benchmark, benchmark_schema(), Presence::optional,
           "what the rows that were fitted hold and steps do not");
  s.list("tiles", &F::tiles, gemm_tile_schema(), Presence::required, "tiles that the library chooses among",
         {.at_least = 1});
  add_fit_fields(s, "most tokens that were fitted; 0: not stated");
  return s;
}

/// Kind of attention that a form is of, for keys that only one kind has.
enum class FormOf { heads, joined_launch, latent };

ObjectSchema<DecodeForm> decode_form_schema(const char* name, const char* description, FormOf of) {
  using F = DecodeForm;
  ObjectSchema<F> s(name, description);
  s.required("kv", &F::kv, number_format(), "format of the KV cache");
  if (of == FormOf::heads) add_kernels(s);
  s.required("t0", &F::t0_s, fixed_kernel_time(), "fixed time of a layer's call");
  s.optional("per_doubling", &F::per_doubling_s, fixed_kernel_time(), "more per doubling of 1 + KV length / 1024");
  s.optional("per_head", &F::per_head_s, fixed_kernel_time(), "more per query token and query head");
  if (of != FormOf::latent) {
    s.optional("cold", &F::cold_s, fixed_kernel_time(), "more where the KV comes from HBM");
    s.optional("uneven_share", &F::uneven_share, share(),
               "of the time by which all requests being as long as the longest would take longer");
  }
  s.object("stream", &F::stream, stream_schema(), Presence::required, "reading the KV");
  s.object("walk", &F::walk, walk_schema(), Presence::optional, "spread over the multiprocessors; left out: evenly");
  if (of == FormOf::latent) {
    s.optional("per_request_doubling", &F::per_request_doubling_s, fixed_kernel_time(),
               "more per doubling of the requests");
    s.optional("per_token", &F::per_token_s, fixed_kernel_time(),
               "more per query token: norms, rotary embedding, writing the cache");
    s.optional("chunks_up_to", &F::chunks_up_to, number().non_negative(),
               "chunks of at most so many tokens are absorbed too, beside decoding requests; 0: all are expanded");
  } else {
    s.object("correction", &F::correction, attention_correction("walks"), Presence::optional,
             "measured / form by requests x KV heads, KV length, head size and query heads per KV head");
    s.optional("hits_in_serving", &F::hits_in_serving, boolean(),
               "measured with other layers' kernels in between: L2 helps as much in serving steps");
  }
  add_fit_fields(s, "most bytes of KV in a call that were fitted");
  return s;
}

ObjectSchema<VerifyForm> verify_form_schema() {
  using F = VerifyForm;
  ObjectSchema<F> s("fitted verify_attention",
                    "Attention of several query tokens a request, on top of decode attention of one.");
  s.required("kv", &F::kv, number_format(), "format of the KV cache");
  s.optional("block_rows", &F::block_rows, number().at_least(1).at_most(4096),
             "query tokens times the query heads that share a KV head, of a block that reads the KV once");
  s.required("reading", &F::reading, number().at_least(1).at_most(100),
             "time of the first block's reading, as a multiple of what decode attention takes to read as much");
  s.optional("further_blocks", &F::further_blocks, share(), "of that, what each further block adds");
  s.required("efficiency", &F::efficiency, kernel_efficiency(), "of the peak arithmetic rate in bf16");
  s.optional("per_row", &F::per_row_s, fixed_kernel_time(), "more per query token beyond the first and query head");
  s.optional("blend_power", &F::blend_power, number().at_least(1).at_most(64),
             "how sharply the slower of reading and arithmetic decides");
  add_fit_fields(s, "most query tokens that were fitted; 0: not stated");
  return s;
}

ObjectSchema<TiledForm> tiled_schema(const char* name, const char* description, FormOf of) {
  using F = TiledForm;
  ObjectSchema<F> s(name, description);
  s.required("kv", &F::kv, number_format(), "format of the KV cache");
  if (of == FormOf::heads) add_kernels(s);
  s.required("tile_rows", &F::tile_rows, number().at_least(1).at_most(4096), "query tokens of a tile");
  s.required("t0", &F::t0_s, fixed_kernel_time(), "fixed time of a layer's call");
  s.required("efficiency", &F::efficiency, kernel_efficiency(), "of the peak arithmetic rate in bf16");
  s.optional("overhead_tokens", &F::overhead_tokens, number().non_negative().at_most(100000),
             "starting and ending a tile, as KV tokens walked through");
  s.optional("longest_factor", &F::longest_factor, number().at_least(0.1).at_most(10),
             "how much longer the longest tile takes");
  s.optional("wave_quantisation", &F::wave_quantisation, share(), "0: work is balanced, 1: whole waves of tiles");
  s.optional("blend_power", &F::blend_power, number().at_least(1).at_most(64),
             "how sharply the slowest of what overlaps decides");
  s.optional(
      "io_efficiency", &F::io_efficiency, cached_efficiency().above(0),
      "rate of queries, outputs and KV of chunks, as a multiple of the peak memory bandwidth (they mostly hit L2)");
  if (of == FormOf::latent) {
    s.optional("per_token", &F::per_token_s, fixed_kernel_time(),
               "more per new token: norms, rotary embedding, writing the cache");
  } else {
    s.optional("head_dim_power", &F::head_dim_power, number().at_least(0).at_most(4),
               "efficiency grows with (head size / 128) to this power");
  }
  s.optional("tile", &F::tile_s, fixed_kernel_time(), "starting and ending a tile, beside overhead_tokens");
  s.optional("per_doubling", &F::per_doubling_s, fixed_kernel_time(), "more per doubling of 1 + KV length / 1024");
  s.optional("write_efficiency", &F::write_efficiency, cached_efficiency(),
             "rate of putting new keys and values into pages, as a multiple of the peak memory bandwidth; 0: no time");
  s.optional("power_droop", &F::power_droop, number().at_least(0).at_most(1), "as of linear layers");
  if (of != FormOf::latent) {
    s.optional("write_block", &F::write_block_s, fixed_kernel_time(),
               "a multiprocessor's time to put one new token's keys and values into pages, beside their bytes");
    s.optional("packs_groups", &F::packs_groups, boolean(), "a tile has rows of all query heads that share a KV head");
    s.optional("uneven_group_share", &F::uneven_group_share, number().at_least(0).at_most(1),
               "more arithmetic time where the query heads that share a KV head are no power of two, as a share");
    s.object("correction", &F::correction, attention_correction("heads"), Presence::optional,
             "measured / form by prompts x heads, KV length, head size and query heads per KV head");
  }
  if (of == FormOf::joined_launch) {
    s.optional("empty_tile", &F::empty_tile_s, fixed_kernel_time(),
               "an empty tile of a decoding request beside a long chunk");
    s.optional("decode_overhead_tokens", &F::decode_overhead_tokens, number(),
               "added to overhead_tokens for a decoding request's tile; may be negative");
    s.object("stream", &F::stream, stream_schema(), Presence::optional, "KV of decoding requests in the launch");
  }
  add_fit_fields(s, "longest KV that was fitted, tokens");
  s.check([](const F& f, const Reporter& report) {
    if (f.overhead_tokens + f.decode_overhead_tokens < 0) {
      report.fail("decode_overhead_tokens", "takes more away than overhead_tokens: a tile would end before it began");
    }
  });
  return s;
}

ObjectSchema<ElementwiseForm> passing_schema(const char* name, const char* description,
                                             const ObjectSchema<CachedStream>& stream) {
  using F = ElementwiseForm;
  ObjectSchema<F> s(name, description);
  s.required("t0", &F::t0_s, fixed_kernel_time(), "fixed time of a call");
  s.object("stream", &F::stream, stream, Presence::required, "reading and writing");
  add_source_fields(s, &F::source, Presence::optional);
  return s;
}

/// Schema of kernels whose data is never in L2 before.
ObjectSchema<CachedStream> cold_stream_schema() {
  ObjectSchema<CachedStream> s("cold stream", "Bytes read from HBM and written there.");
  s.required("bandwidth_efficiency", &CachedStream::bandwidth_efficiency, kernel_efficiency(),
             "fraction of the peak memory bandwidth");
  return s;
}

ObjectSchema<TopKForm> top_k_schema() {
  using F = TopKForm;
  ObjectSchema<F> s("fitted top_k", "Choosing the largest of each row of scores, rows side by side.");
  s.required("t0", &F::t0_s, fixed_kernel_time(), "fixed time of a call");
  s.required("per_score", &F::per_score_s, fixed_kernel_time(), "time of a score of one row");
  s.optional("rows_at_once", &F::rows_at_once, number().positive().at_most(64),
             "rows that a multiprocessor takes side by side in the time of one");
  add_source_fields(s, &F::source, Presence::optional);
  return s;
}

template <class Form>
void once_per_format(const std::vector<Form>& forms, NumberFormat Form::*format, const char* key,
                     const Reporter& report) {
  for (std::size_t i = 1; i < forms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (forms[i].*format == forms[j].*format) report.fail(key, "two forms for the same number format");
    }
  }
}

}  // namespace

ScalarSpec number_format() {
  return choice<NumberFormat>(
      {{"bf16", NumberFormat::bf16, "16-bit floating point"}, {"fp8", NumberFormat::fp8, "8-bit floating point"}});
}

ObjectSchema<FittedForms> fitted_forms_schema() {
  using F = FittedForms;
  ObjectSchema<F> s("fitted", "Forms fitted to measured kernels; an operator they cover does not use its roofline.");
  s.list("linear", &F::linear, linear_form_schema(), Presence::optional, "dense linear layers, one per weight format");
  s.list("decode_attention", &F::decode_attention,
         decode_form_schema("fitted decode_attention", "Attention of one query token a request, split over the GPU.",
                            FormOf::heads),
         Presence::optional, "one per KV format");
  s.list("verify_attention", &F::verify_attention, verify_form_schema(), Presence::optional,
         "verifications, and several query tokens of a request, one per KV format; it needs decode_attention");
  s.list("prefill_attention", &F::prefill_attention,
         tiled_schema("fitted prefill_attention", "Attention of chunks of prompts in a launch of their own.",
                      FormOf::heads),
         Presence::optional, "one per KV format");
  s.list("mixed_attention", &F::mixed_attention,
         tiled_schema("fitted mixed_attention", "One launch for chunks, verifications and decoding requests.",
                      FormOf::joined_launch),
         Presence::optional, "one per KV format; which steps it serves is said by launches");
  s.list("latent_decode_attention", &F::latent_decode_attention,
         decode_form_schema("fitted latent_decode_attention",
                            "What an attention block over latents (MLA) takes beside its linear layers, absorbed.",
                            FormOf::latent),
         Presence::optional, "decoding, verifying and short chunks, one per KV format");
  s.list("latent_prefill_attention", &F::latent_prefill_attention,
         tiled_schema("fitted latent_prefill_attention",
                      "What an attention block over latents (MLA) takes beside its linear layers, expanded.",
                      FormOf::latent),
         Presence::optional, "chunks of prompts, one per KV format");
  s.list("moe", &F::moe, moe_form_schema(), Presence::optional, "routed experts of a layer, one per weight format");
  s.object("elementwise", &F::elementwise,
           passing_schema("fitted elementwise", "Kernels that pass over data once.", stream_schema()),
           Presence::optional, "norms, rotary embedding, activation; copies within GPU memory");
  s.object("top_k", &F::top_k, top_k_schema(), Presence::optional,
           "choosing the largest scores; left out: three passes of the elementwise form");
  s.object("quantise", &F::quantise,
           passing_schema("fitted quantise", "KV read whole and written in few bits.", cold_stream_schema()),
           Presence::optional, "left out: a pass of the elementwise form");
  s.object("dequantise", &F::dequantise,
           passing_schema("fitted dequantise", "KV of few bits read and written whole.", cold_stream_schema()),
           Presence::optional, "outside attention; left out: as quantise");
  s.check([](const F& f, const Reporter& report) {
    once_per_format(f.linear, &LinearForm::weights, "linear", report);
    once_per_format(f.decode_attention, &DecodeForm::kv, "decode_attention", report);
    once_per_format(f.verify_attention, &VerifyForm::kv, "verify_attention", report);
    for (const VerifyForm& form : f.verify_attention) {
      if (form_for(f.decode_attention, &DecodeForm::kv, form.kv) != nullptr) continue;
      report.fail("verify_attention", "needs decode_attention of the same KV format, which is not there");
    }
    once_per_format(f.prefill_attention, &TiledForm::kv, "prefill_attention", report);
    once_per_format(f.mixed_attention, &TiledForm::kv, "mixed_attention", report);
    once_per_format(f.latent_decode_attention, &DecodeForm::kv, "latent_decode_attention", report);
    once_per_format(f.latent_prefill_attention, &TiledForm::kv, "latent_prefill_attention", report);
    once_per_format(f.moe, &MoeForm::weights, "moe", report);
  });
  return s;
}

}  // namespace kvsim::models
