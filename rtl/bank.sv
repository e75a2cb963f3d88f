// One memory with a read and a write port. A read gives the old word; the output holds without
// `re`. BLOCK 0: it is small, and need not be a block RAM.
module bank #(
  parameter int BITS = 16, parameter int ADDRESS_BITS = 8, parameter int BLOCK = 1) (
  input  logic                    clk,
  input  logic                    we,
  input  logic [ADDRESS_BITS-1:0] wa,
  input  logic [BITS-1:0]         wd,
  input  logic                    re,
  input  logic [ADDRESS_BITS-1:0] ra,
  output logic [BITS-1:0]         rd);
  generate
    if (BLOCK != 0) begin : g_block
      (* ram_style = "block" *) logic [BITS-1:0] words [0:(1<<ADDRESS_BITS)-1];
      always_ff @(posedge clk) begin
        if (we) words[wa] <= wd;
        if (re) rd <= words[ra];
      end
    end else begin : g_small
      logic [BITS-1:0] words [0:(1<<ADDRESS_BITS)-1];
      always_ff @(posedge clk) begin
        if (we) words[wa] <= wd;
        if (re) rd <= words[ra];
      end
    end
  endgenerate
endmodule
