#include "models/hardware/gpu.h"

#include "models/schemas.h"

namespace kvsim::models {

schema::ScalarSpec peak_bandwidth() {
  return schema::bandwidth().usually(1e9, 1e15);
}

schema::ScalarSpec peak_rate() {
  return schema::compute_rate().usually(1e12, 1e18);
}

schema::ScalarSpec multiprocessor_count() {
  return schema::number().usually(1, 1e4);
}

schema::ScalarSpec l2_size() {
  return schema::bytes().usually(1e3, 1e12);
}

namespace {

schema::ObjectSchema<GpuSpec> make_gpu_schema() {
  using namespace schema;
  ObjectSchema<GpuSpec> s("gpu", "One GPU as its datasheet has it.");
  add_entry_fields(s);
  s.required("memory", &GpuSpec::memory_bytes, bytes().positive().usually(1e9, 1e13),
             "HBM (or GDDR) capacity of one GPU");
  s.required("memory_bandwidth", &GpuSpec::memory_bytes_per_s, peak_bandwidth().positive(), "peak memory bandwidth");
  s.required("bf16_peak", &GpuSpec::bf16_flops_per_s, peak_rate().positive(),
             "peak dense tensor-core rate in bf16, fp32 accumulation");
  s.optional("fp8_peak", &GpuSpec::fp8_flops_per_s, peak_rate().non_negative(),
             "peak dense rate in fp8; 0 where the GPU has no fp8 units");
  s.optional("fp4_peak", &GpuSpec::fp4_flops_per_s, peak_rate().non_negative(),
             "peak dense rate in fp4; 0 where the GPU has no fp4 units");
  s.optional("multiprocessors", &GpuSpec::multiprocessors, multiprocessor_count().non_negative(),
             "streaming multiprocessors (SMs); 0: not given, kernel times then come from the profile's rooflines");
  s.optional("l2_cache", &GpuSpec::l2_bytes, l2_size().non_negative(), "L2 cache; 0: not given");
  s.optional("board_power", &GpuSpec::board_power_w, power().non_negative().usually(1, 1e5),
             "most that the board draws, for the energy of an output token; 0: not given");
  s.optional("architecture", &GpuSpec::architecture, text(),
             "for example hopper; a profile measured on another one is marked as carried over");
  s.required("host_link", &GpuSpec::host_link, text().non_empty(), "link to host memory, a name in the link catalogue");
  s.required("peer_link", &GpuSpec::peer_link, text().non_empty(),
             "link between the GPUs of a replica, a name in the link catalogue");
  s.required("profile", &GpuSpec::profile, text().non_empty(), "kernel profile, a name in the profile catalogue");
  s.check([](const GpuSpec& gpu, const Reporter& report) {
    const double bf16 = gpu.bf16_flops_per_s.value;
    const double fp8 = gpu.fp8_flops_per_s.value;
    const double fp4 = gpu.fp4_flops_per_s.value;
    if (fp4 > 0 && fp4 < fp8) report.fail("fp4_peak", "below fp8_peak: no GPU is slower in fp4 than in fp8");
    if (fp8 > 0 && fp8 < bf16) report.fail("fp8_peak", "below bf16_peak: no GPU is slower in fp8 than in bf16");
  });
  return s;
}

}  // namespace

const schema::ObjectSchema<GpuSpec>& gpu_schema() {
  static const schema::ObjectSchema<GpuSpec> schema = make_gpu_schema();
  return schema;
}

}  // namespace kvsim::models
