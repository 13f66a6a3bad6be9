"""Operations of the program that every party runs (`secfc.kmeans.program`), one file each.

A file has the halves of all roles side by side, what they open, and a plaintext version. Parties that hold
shares, the dealer and the two evaluators run the same function; it asks `secfc.protocol.parties.party` what
this party does. `masked` puts answers under the dealer's masks, `signs` compares them by gates
(`secfc.comparing`), `reduction` lowers the degree of products, and `opening` opens values to all who may
learn them. `secure` puts the operations together.
"""
