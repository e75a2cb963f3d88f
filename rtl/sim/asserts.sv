// Assertions about the machine, bound to it in simulation only. Each says what the units rely on.
module adagp_asserts #(parameter int LD = 8) (
  input logic       clk,
  input logic       rst,
  input logic [4:0] issue,
  input logic [4:0] seq_idle,
  input logic       load_ready,
  input logic       store_valid,
  input logic       request_valid,
  input logic [2:0] seq_phase,
  input logic       running);
  always_ff @(posedge clk) if (!rst) begin
    assert ((issue & ~seq_idle) == 5'd0) else $error("a busy engine got a descriptor");
    assert ((issue & (issue - 5'd1)) == 5'd0) else $error("two engines got one descriptor");
    assert (!(load_ready && store_valid)) else $error("the DMA loads and stores at once");
    assert (!(request_valid && (load_ready || store_valid)))
      else $error("a request inside a transfer");
    assert (!running || (seq_phase != 3'd0 && (seq_phase & (seq_phase - 3'd1)) == 3'd0))
      else $error("a batch has one phase");
  end
endmodule

bind adagp_top adagp_asserts #(.LD(LD)) asserts (.*);
