// A management library with one device, in the words of NVIDIA's.
#include <cstring>

namespace {

struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

int device_of_the_test = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (std::strcmp(bus_id, "0000:3b:00.0") != 0) return 6;  // NVML_ERROR_NOT_FOUND
  *device = &device_of_the_test;
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, unsigned type, unsigned* mhz) {
  if (device != &device_of_the_test) return 2;
  *mhz = type == 1 ? 1410 : 2619;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void* /*device*/, unsigned type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 2619;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 698500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetTemperature(void* /*device*/, unsigned /*sensor*/, unsigned* celsius) {
  *celsius = 71;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*device*/, unsigned long long* reasons) {
  *reasons = 0x4;
  return 0;
}
int nvmlDeviceGetEccMode(void* /*device*/, unsigned* now, unsigned* next) {
  *now = *next = 1;
  return 0;
}
int nvmlDeviceGetMigMode(void* /*device*/, unsigned* /*now*/, unsigned* /*next*/) {
  return 3;  // NVML_ERROR_NOT_SUPPORTED
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* /*device*/, unsigned* count, void* processes) {
  if (*count < 1) return 7;
  *count = 1;
  static_cast<Process*>(processes)->pid = 1;
  return 0;
}
}
