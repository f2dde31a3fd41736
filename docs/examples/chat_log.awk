# A log that stands for yours in docs/size_a_chat_service.md: ten minutes, 60 requests/s in the mean, arrivals at random
# (Poisson), log-normal lengths, the same every time.
function random() { state = state * 16807 % 2147483647; return state / 2147483647 }
BEGIN {
  state = 1
  print "arrival_s,prompt_tokens,output_tokens"
  for (i = 0; i < 36000; i++) {
    time -= log(random()) / 60
    radius = 0.8326 * sqrt(-2 * log(random())); angle = 6.28319 * random()
    printf "%.3f,%d,%d\n", time, 707 * exp(radius * cos(angle)), 1 + 141 * exp(radius * sin(angle))
  }
}
