# Seconds of the longer tests on two quiet cores. ctest -j starts the longest first, so that none is left
# running alone at the end; rough numbers do.
set(_costs
  unit.models 55
  unit.rivals 50
  cli.rival_methods.1 35
  cli.rival_methods.2 35
  cli.rival_methods.3 35
  cli.parallel.1 35
  cli.parallel.2 35
  cli.parallel.3 35
  cli.methods.1 30
  cli.methods.2 30
  cli.rival_formats.1 30
  cli.rival_formats.2 30
  cli.resume.1 25
  cli.resume.2 25
  cli.macs 33
  python_ops 30
  cli.elastic.1 60
  cli.elastic.2 50
  cli.elastic.3 30
  cli.parallel_stages.1 20
  cli.parallel_stages.2 20
  cli.run_folder 26
  cli.decoupled 25
  cli.weights 25
  unit.train 25
  cli.output 22
  cli.bad_files 22
  cli.rtl_synth 20
  cli.slow_links 20
  cli.usage_errors 18
  cli.translation 18
  unit.comm 18
  unit.layer_table 18
  cli.layers 15
  cli.memory 14
  unit.task 14
  cli.bench_gpu 11
  cli.compare 11
  cli.overwrite 10
  cli.scalesim 8
  unit.method 8
  unit.data 7
  cli.build 7
  unit.io 6
  cli.detection 6
  cli.precedence 6
  cli.uncounted 5
  cli.sim_program 5
  unit.metrics 5
  cli.paper 4
  cli.run_streams 4
  cli.offline_bundle 4
  unit.core 4)
while(_costs)
  list(POP_FRONT _costs _test _seconds)
  if(TEST ${_test})
    set_tests_properties(${_test} PROPERTIES COST ${_seconds})
  endif()
endwhile()
